package migratelock_test

import (
	"context"
	"errors"
	"io"
	"os"
	"testing"
	"testing/fstest"
	"time"

	"github.com/golang-migrate/migrate/v4"
	"github.com/golang-migrate/migrate/v4/database"
	"github.com/golang-migrate/migrate/v4/database/stub"
	"github.com/golang-migrate/migrate/v4/source/iofs"

	"github.com/holdfast-io/holdfast/clients/adapters/internal/adaptertest"
	"github.com/holdfast-io/holdfast/clients/adapters/migratelock"
	"github.com/holdfast-io/holdfast/clients/holdfast"
)

// store is the driver that migrate tests itself with, in memory. run is called for each migration.
type store struct {
	*stub.Stub
	run func() error
}

func newStore() *store {
	return &store{Stub: &stub.Stub{CurrentVersion: database.NilVersion}, run: func() error { return nil }}
}

func (s *store) Run(migration io.Reader) error {
	return errors.Join(s.Stub.Run(migration), s.run())
}

// newMigrate returns what has one migration.
func newMigrate(d database.Driver) (*migrate.Migrate, error) {
	source, err := iofs.New(fstest.MapFS{"1_orders.up.sql": {Data: []byte("CREATE TABLE orders (id INTEGER)")}}, ".")
	if err != nil {
		return nil, err
	}
	return migrate.NewWithInstance("iofs", source, "stub", d)
}

// migrateOnce is an [adaptertest.Host]. A process of the test of PostgreSQL migrates its database.
func migrateOnce(ctx context.Context, c *holdfast.Client, _ time.Duration, work func(context.Context)) error {
	for ctx.Err() == nil {
		var d *migratelock.Driver
		run := func() error {
			work(d.Context())
			return nil
		}
		var m *migrate.Migrate
		var err error
		if url := os.Getenv(postgresURL); url != "" {
			d, m, err = newPostgres(c, url, run)
		} else {
			d = migratelock.New(&store{Stub: newStore().Stub, run: run}, c, "test/job")
			m, err = newMigrate(d)
		}
		if err != nil {
			return err
		}
		if err = m.Up(); !errors.Is(err, database.ErrLocked) {
			return err
		}
	}
	return ctx.Err()
}

func TestFaults(t *testing.T) { adaptertest.Faults(t) }

// Behind a loss no step is made, and the version stays dirty.
func TestLostMigration(t *testing.T) {
	t.Parallel()
	node := adaptertest.Node(t)
	s := newStore()
	d := migratelock.New(s, adaptertest.NewClient(t, node), "migrations.shop")
	s.run = func() error {
		ctx := d.Context()
		claim, _ := holdfast.ClaimFromContext(ctx)
		err := adaptertest.NewClient(t, node).Break(t.Context(), claim.Resource, claim.Token, "a test")
		<-ctx.Done()
		return err
	}
	m, err := newMigrate(d)
	if err != nil {
		t.Fatal(err)
	}
	if err := m.Up(); !errors.Is(err, holdfast.ErrLost) {
		t.Errorf("got %v, want ErrLost", err)
	}
	if version, dirty, err := s.Version(); version != 1 || !dirty || err != nil {
		t.Errorf("the version is %d, dirty %t, %v; want 1 and dirty", version, dirty, err)
	}
}

// A second process does not get in, and says what migrate expects.
func TestLocked(t *testing.T) {
	t.Parallel()
	node := adaptertest.Node(t)
	s := newStore()
	first := migratelock.New(s, adaptertest.NewClient(t, node), "migrations.shop")
	if err := first.Lock(); err != nil {
		t.Fatal(err)
	}
	if err := first.Lock(); !errors.Is(err, database.ErrLocked) {
		t.Errorf("twice: %v, want ErrLocked", err)
	}
	second := migratelock.New(s, adaptertest.NewClient(t, node), "migrations.shop", holdfast.MaxWait(10*time.Millisecond))
	m, err := newMigrate(second)
	if err != nil {
		t.Fatal(err)
	}
	if err := m.Up(); !errors.Is(err, database.ErrLocked) || !errors.Is(err, holdfast.ErrTimeout) {
		t.Errorf("got %v, want ErrLocked and ErrTimeout", err)
	}
	if err := first.Unlock(); err != nil {
		t.Error(err)
	}
	if err := m.Up(); err != nil {
		t.Error(err)
	}
}

// No step is made without the lock, and what Open returns is wrapped.
func TestUnlocked(t *testing.T) {
	t.Parallel()
	d, err := migratelock.New(newStore(), adaptertest.NewClient(t, adaptertest.Node(t)), "migrations.shop").Open("stub://")
	if err != nil {
		t.Fatal(err)
	}
	for name, err := range map[string]error{
		"Run": d.Run(nil), "SetVersion": d.SetVersion(1, false), "Drop": d.Drop(), "Unlock": d.Unlock(),
	} {
		if !errors.Is(err, database.ErrNotLocked) {
			t.Errorf("%s: got %v, want ErrNotLocked", name, err)
		}
	}
}
