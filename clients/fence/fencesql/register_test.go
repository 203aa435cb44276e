package fencesql_test

import (
	"context"
	"database/sql"
	"errors"
	"testing"

	"github.com/holdfast-io/holdfast/clients/fence"
	"github.com/holdfast-io/holdfast/clients/fence/fencesql"
	"github.com/holdfast-io/holdfast/clients/fence/fencetest"
)

// guarded is a register whose marks are in the guard's table.
type guarded struct {
	*database
	db    *sql.DB
	guard *fencesql.Guard
}

func subject(d *database) fencetest.Subject {
	on := func(tb testing.TB, rule fence.Rule, db *sql.DB) fencetest.Register {
		tb.Helper()
		g := &guarded{database: d, db: db, guard: d.guard(tb, fencesql.WithRule(rule))}
		if d.dialect == fencesql.SQLite {
			return g // it waits for its busy_timeout, whatever the context says
		}
		return modifying{g}
	}
	return fencetest.Subject{
		Open:    d.opening(on),
		Through: d.through(on),
		Observed: func(tb testing.TB, o fence.Observer) fencetest.Register {
			tb.Helper()
			return &guarded{database: d, db: d.open(tb), guard: d.guard(tb, fencesql.WithObserver(o))}
		},
		Restart: d.restart,
		Marks: func(tb testing.TB, rule fence.Rule) fence.Marks {
			tb.Helper()
			return d.guard(tb, fencesql.WithRule(rule)).Marks(d.open(tb))
		},
		History:   d.history,
		Exclusive: d.dialect != fencesql.SQLite,
	}
}

// modifying is a register that is read and written in one transaction.
type modifying struct{ *guarded }

func (g modifying) Modify(ctx context.Context, c fence.Claim, f func(old string) (string, error)) error {
	return g.guard.Do(ctx, g.db, c, func(tx *sql.Tx) error {
		old, err := g.value(ctx, tx, c.Resource)
		if err != nil {
			return err
		}
		value, err := f(old)
		if err != nil {
			return err
		}
		_, err = tx.ExecContext(ctx, g.upsert(), []byte(c.Resource), []byte(value))
		return err
	})
}

func (g *guarded) Write(ctx context.Context, c fence.Claim, value string) error {
	return g.guard.Do(ctx, g.db, c, func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, g.upsert(), []byte(c.Resource), []byte(value))
		return errors.Join(err, g.remember(ctx, tx, c, value))
	})
}

func (g *guarded) Read(ctx context.Context, resource string) (string, error) {
	return g.value(ctx, g.db, resource)
}

// columned is a register whose marks are in the rows.
type columned struct {
	*database
	db     *sql.DB
	column *fencesql.Column
}

func columnSubject(d *database) fencetest.Subject {
	on := func(tb testing.TB, rule fence.Rule, db *sql.DB) fencetest.Register {
		tb.Helper()
		return &columned{database: d, db: db, column: d.column(tb, fencesql.WithRule(rule))}
	}
	return fencetest.Subject{
		Open:    d.opening(on),
		Through: d.through(on),
		Observed: func(tb testing.TB, o fence.Observer) fencetest.Register {
			tb.Helper()
			return &columned{database: d, db: d.open(tb), column: d.column(tb, fencesql.WithObserver(o))}
		},
		Restart: d.restart,
		Marks: func(tb testing.TB, rule fence.Rule) fence.Marks {
			tb.Helper()
			return &columned{database: d, db: d.open(tb), column: d.column(tb, fencesql.WithRule(rule))}
		},
		History: d.history,
	}
}

// registerOn makes a register of a pool of connections.
type registerOn func(tb testing.TB, rule fence.Rule, db *sql.DB) fencetest.Register

func (d *database) opening(on registerOn) func(testing.TB, fence.Rule) fencetest.Register {
	return func(tb testing.TB, rule fence.Rule) fencetest.Register {
		tb.Helper()
		return on(tb, rule, d.open(tb))
	}
}

// through is nil if there is no server.
func (d *database) through(on registerOn) func(testing.TB, fence.Rule, func(string) string) fencetest.Register {
	if d.process == nil {
		return nil
	}
	return func(tb testing.TB, rule fence.Rule, via func(string) string) fencetest.Register {
		tb.Helper()
		return on(tb, rule, d.openAt(tb, via(d.process.Addr)))
	}
}

func (d *database) column(tb testing.TB, options ...fencesql.Option) *fencesql.Column {
	tb.Helper()
	c, err := d.guard(tb, options...).Column("orders", "resource", "fencing_token")
	if err != nil {
		tb.Fatal(err)
	}
	return c
}

func (r *columned) Write(ctx context.Context, c fence.Claim, value string) error {
	return r.transact(ctx, c, func(tx *sql.Tx) error {
		if err := r.column.Update(ctx, tx, c, []byte(c.Resource), r.sql("value = ?"), []byte(value)); err != nil {
			return err
		}
		return r.remember(ctx, tx, c, value)
	})
}

func (r *columned) Raise(ctx context.Context, c fence.Claim) error {
	return r.transact(ctx, c, func(tx *sql.Tx) error { return r.column.Raise(ctx, tx, c, []byte(c.Resource)) })
}

// transact makes the row at the first time, and runs a transaction.
func (r *columned) transact(ctx context.Context, c fence.Claim, do func(tx *sql.Tx) error) error {
	insert := r.sql(insertOrder + " ON CONFLICT (resource) DO NOTHING")
	if r.dialect == fencesql.MySQL {
		insert = insertOrder + " ON DUPLICATE KEY UPDATE value = value"
	}
	if _, err := r.db.ExecContext(ctx, insert, []byte(c.Resource), []byte{}); err != nil {
		return err
	}
	tx, err := r.db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }()
	if err := do(tx); err != nil {
		return err
	}
	if err := tx.Commit(); err != nil {
		return errors.Join(fence.ErrUnknown, err)
	}
	return nil
}

func (r *columned) Read(ctx context.Context, resource string) (string, error) {
	return r.value(ctx, r.db, resource)
}

// value is empty if there is no row.
func (d *database) value(ctx context.Context, tx fencesql.Tx, resource string) (string, error) {
	var value []byte
	err := tx.QueryRowContext(ctx, d.sql("SELECT value FROM orders WHERE resource = ?"), []byte(resource)).Scan(&value)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return "", err
	}
	return string(value), nil
}

func (d *database) remember(ctx context.Context, tx fencesql.Tx, c fence.Claim, value string) error {
	_, err := tx.ExecContext(ctx, d.sql("INSERT INTO history (resource, value) VALUES (?, ?)"), []byte(c.Resource),
		[]byte(value))
	return err
}

// history returns the values in the order in which they were written.
func (d *database) history(tb testing.TB, resource string) (values []string) {
	tb.Helper()
	rows, err := d.open(tb).QueryContext(tb.Context(),
		d.sql("SELECT value FROM history WHERE resource = ? ORDER BY id"), []byte(resource))
	if err != nil {
		tb.Fatal(err)
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		var value []byte
		if err := rows.Scan(&value); err != nil {
			tb.Fatal(err)
		}
		values = append(values, string(value))
	}
	if err := rows.Err(); err != nil {
		tb.Fatal(err)
	}
	return values
}
