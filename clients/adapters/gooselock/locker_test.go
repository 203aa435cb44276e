package gooselock_test

import (
	"context"
	"database/sql"
	"errors"
	"testing"
	"time"

	"github.com/pressly/goose/v3"
	_ "modernc.org/sqlite"

	"github.com/holdfast-io/holdfast/clients/adapters/gooselock"
	"github.com/holdfast-io/holdfast/clients/adapters/internal/adaptertest"
	"github.com/holdfast-io/holdfast/clients/holdfast"
)

// migrate is an [adaptertest.Host]: a migration in Go.
func migrate(ctx context.Context, c *holdfast.Client, _ time.Duration, work func(context.Context)) error {
	db, err := sql.Open("sqlite", ":memory:")
	if err != nil {
		return err
	}
	defer db.Close()
	locker := gooselock.New(c, "test/job")
	p, err := provider(db, locker, func(ctx context.Context, _ *sql.Tx) error {
		work(ctx)
		return nil
	})
	if err != nil {
		return err
	}
	ctx, cancel := gooselock.Context(ctx)
	defer cancel()
	_, err = p.Up(ctx)
	return err
}

func provider(db *sql.DB, locker *gooselock.Locker, up func(context.Context, *sql.Tx) error) (*goose.Provider, error) {
	return goose.NewProvider(goose.DialectSQLite3, db, nil, goose.WithSessionLocker(locker),
		goose.WithDisableGlobalRegistry(true),
		goose.WithGoMigrations(goose.NewGoMigration(1, &goose.GoFunc{RunTx: up}, nil)))
}

func TestFaults(t *testing.T) { adaptertest.Faults(t) }

// A migration whose lock is lost is not committed, and neither is its version.
func TestLostMigration(t *testing.T) {
	t.Parallel()
	node := adaptertest.Node(t)
	c := adaptertest.NewClient(t, node)
	db := open(t)
	locker := gooselock.New(c, "migrations.shop")
	p, err := provider(db, locker, func(ctx context.Context, tx *sql.Tx) error {
		if _, err := tx.ExecContext(ctx, "CREATE TABLE orders (id INTEGER)"); err != nil {
			return err
		}
		claim, _ := holdfast.ClaimFromContext(ctx)
		if err := adaptertest.NewClient(t, node).Break(ctx, claim.Resource, claim.Token, "a test"); err != nil {
			return err
		}
		<-ctx.Done()
		return nil // a migration that does not look
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := gooselock.Context(t.Context())
	defer cancel()
	if _, err := p.Up(ctx); !errors.Is(err, holdfast.ErrLost) {
		t.Errorf("got %v, want ErrLost", err)
	}
	if cause := context.Cause(ctx); !errors.Is(cause, holdfast.ErrLost) {
		t.Errorf("the context ends with %v, want ErrLost", cause)
	}
	var tables int
	if err := db.QueryRow("SELECT count(*) FROM sqlite_master WHERE name = 'orders'").Scan(&tables); err != nil || tables != 0 {
		t.Errorf("%d tables, %v: the migration was committed", tables, err)
	}
}

// The claim in a migration's context is that of goose's lock, also inside of another one. All else is the caller's.
func TestContext(t *testing.T) {
	t.Parallel()
	c := adaptertest.NewClient(t, adaptertest.Node(t))
	outer, err := c.Acquire(context.WithValue(t.Context(), callerKey{}, "caller"), "deployment")
	if err != nil {
		t.Fatal(err)
	}
	p, err := provider(open(t), gooselock.New(c, "migrations.shop"), func(ctx context.Context, _ *sql.Tx) error {
		if claim, _ := holdfast.ClaimFromContext(ctx); claim.Resource != "migrations.shop" {
			t.Errorf("the claim is %v", claim)
		}
		if v := ctx.Value(callerKey{}); v != "caller" {
			t.Errorf("the caller's value is %v", v)
		}
		if v := ctx.Value(nobodysKey{}); v != nil {
			t.Errorf("a value that nobody has given is %v", v)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := gooselock.Context(outer.Context())
	defer cancel()
	if _, err := p.Up(ctx); err != nil {
		t.Error(err)
	}
}

type (
	callerKey  struct{}
	nobodysKey struct{}
)

// Several processes start at once: the migration runs once, and the others find it done.
func TestStartTogether(t *testing.T) {
	t.Parallel()
	node := adaptertest.Node(t)
	name := "file:" + t.TempDir() + "/shop.db?_pragma=busy_timeout(60000)" // goose reads before it locks
	ran := make(chan struct{}, 3)
	ends := make(chan error, 3)
	for range cap(ends) {
		db, err := sql.Open("sqlite", name)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { db.Close() })
		p, err := provider(db, gooselock.New(adaptertest.NewClient(t, node), "migrations.shop"),
			func(context.Context, *sql.Tx) error {
				ran <- struct{}{}
				return nil
			})
		if err != nil {
			t.Fatal(err)
		}
		go func() {
			_, err := p.Up(t.Context())
			ends <- err
		}()
	}
	for range cap(ends) {
		if err := <-ends; err != nil {
			t.Error(err)
		}
	}
	if len(ran) != 1 {
		t.Errorf("the migration ran %d times", len(ran))
	}
}

// An unlock needs a lock.
func TestUnlocked(t *testing.T) {
	t.Parallel()
	locker := gooselock.New(adaptertest.NewClient(t, adaptertest.Node(t)), "migrations.shop")
	conn, err := open(t).Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if err := locker.SessionUnlock(t.Context(), conn); !errors.Is(err, holdfast.ErrNotHeld) {
		t.Errorf("got %v, want ErrNotHeld", err)
	}
}

func open(t *testing.T) *sql.DB {
	t.Helper()
	db, err := sql.Open("sqlite", "file:"+t.TempDir()+"/shop.db")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	return db
}
