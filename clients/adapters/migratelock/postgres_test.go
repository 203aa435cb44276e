package migratelock_test

import (
	"context"
	"database/sql"
	"errors"
	"io"
	"testing"

	"github.com/golang-migrate/migrate/v4"
	"github.com/golang-migrate/migrate/v4/database"
	"github.com/golang-migrate/migrate/v4/database/postgres"

	"github.com/holdfast-io/holdfast/clients/adapters/internal/adaptertest"
	"github.com/holdfast-io/holdfast/clients/adapters/migratelock"
	"github.com/holdfast-io/holdfast/clients/fence/fencetest"
	"github.com/holdfast-io/holdfast/clients/holdfast"
)

// postgresURL is the environment variable that names the database to a process of this test.
const postgresURL = "MIGRATELOCK_POSTGRES"

// hooked is a database whose migrations are followed by run, within the lock.
type hooked struct {
	database.Driver
	run func() error
}

func (h *hooked) Run(migration io.Reader) error {
	return errors.Join(h.Driver.Run(migration), h.run())
}

// newPostgres returns what migrates the database at the URL, on a connection of its own.
func newPostgres(c *holdfast.Client, url string, run func() error) (*migratelock.Driver, *migrate.Migrate, error) {
	db, err := sql.Open("postgres", url)
	if err != nil {
		return nil, nil, err
	}
	driver, err := postgres.WithInstance(db, &postgres.Config{})
	if err != nil {
		return nil, nil, err
	}
	d := migratelock.New(&hooked{driver, run}, c, "test/job")
	m, err := newMigrate(d)
	return d, m, err
}

func nothing() error { return nil }

// Two processes migrate a database at once: the migration, which fails where its table is, runs once. A process that is
// killed in a migration is followed by another one, which finds the version dirty; a person who has looked says so, and
// the migrations go on.
func TestPostgreSQL(t *testing.T) {
	t.Parallel()
	node := adaptertest.Node(t)
	server := fencetest.PostgreSQL(t)
	url := func(addr, database string) string {
		return "postgres://postgres@" + addr + "/" + database + "?sslmode=disable"
	}
	server.Ready = func(ctx context.Context, addr string) error {
		db, err := sql.Open("postgres", url(addr, "postgres"))
		if err != nil {
			return err
		}
		defer db.Close()
		_, err = db.ExecContext(ctx, "CREATE DATABASE shop")
		return err
	}
	addr := server.Start(t).Addr
	migrator := func(database string, run func() error) *migrate.Migrate {
		_, m, err := newPostgres(adaptertest.NewClient(t, node), url(addr, database), run)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _, _ = m.Close() })
		return m
	}

	ends, inside, proceed := make(chan error, 2), make(chan struct{}, 2), make(chan struct{})
	for range cap(ends) {
		m := migrator("postgres", func() error {
			inside <- struct{}{}
			<-proceed
			return nil
		})
		go func() { ends <- m.Up() }()
	}
	<-inside
	observer := adaptertest.NewClient(t, node)
	for len(ends) == 0 { // until the other one waits
		state, err := observer.Get(t.Context(), "test/job")
		if err != nil {
			t.Fatal(err)
		}
		if state.Waiting > 0 {
			break
		}
	}
	close(proceed)
	done, unchanged := <-ends, <-ends
	if done != nil {
		done, unchanged = unchanged, done
	}
	if done != nil || !errors.Is(unchanged, migrate.ErrNoChange) {
		t.Errorf("two at once: %v and %v, want no error and ErrNoChange", done, unchanged)
	}

	kill := adaptertest.Holder(t, node, postgresURL+"="+url(addr, "shop"))
	kill()
	if dirty := new(migrate.ErrDirty); !errors.As(migrator("shop", nothing).Up(), dirty) || dirty.Version != 1 {
		t.Errorf("behind the killed process the dirty version is %d, want 1", dirty.Version)
	}
	m := migrator("shop", nothing)
	if err := m.Force(1); err != nil {
		t.Error(err)
	}
	if err := m.Up(); !errors.Is(err, migrate.ErrNoChange) {
		t.Errorf("after a look: %v, want ErrNoChange", err)
	}
}
