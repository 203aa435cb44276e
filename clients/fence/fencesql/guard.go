package fencesql

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"

	"github.com/holdfast-io/holdfast/clients/fence"
)

// DefaultTable is the name of the table of marks.
const DefaultTable = "holdfast_marks"

// guardName is how an observer knows the guards of this package.
const guardName = "fencesql"

// Guard checks claims against marks in a table of their own. It holds no connection and may be used
// concurrently.
type Guard struct {
	dialect Dialect
	rule    fence.Rule
	table   string
	// observer receives each claim that was checked; nil: there is no observer.
	observer fence.Observer
}

// Option changes a guard.
type Option func(*Guard)

// WithRule sets the rule; the default is [fence.Repeatable].
func WithRule(r fence.Rule) Option { return func(g *Guard) { g.rule = r } }

// WithTable sets the name of the table of marks; the default is [DefaultTable]. It is part of the statements,
// without quotes: letters, digits and _, and a schema before a dot if need be.
func WithTable(name string) Option { return func(g *Guard) { g.table = name } }

// WithObserver sets the observer, which receives each claim that the guard has checked, also in columns. A claim may
// pass in a transaction that is rolled back later.
func WithObserver(o fence.Observer) Option { return func(g *Guard) { g.observer = o } }

// New returns a guard for databases of the dialect. The error is [fence.ErrInvalid] if an argument breaks a
// rule.
func New(d Dialect, opts ...Option) (*Guard, error) {
	g := &Guard{dialect: d, table: DefaultTable}
	for _, o := range opts {
		o(g)
	}
	if err := g.rule.Validate(); err != nil {
		return nil, err
	}
	if d < PostgreSQL || d > SQLite {
		return nil, fmt.Errorf("fencesql: %w: %v: want PostgreSQL, MySQL or SQLite", fence.ErrInvalid, d)
	}
	if err := checkName("table", g.table); err != nil {
		return nil, err
	}
	return g, nil
}

// CreateTable makes the table of marks unless there is one of that name, which stays as it is. Several
// processes may call it at once. MySQL commits a transaction that is open on the same connection.
func (g *Guard) CreateTable(ctx context.Context, db DB) error {
	if _, err := db.ExecContext(ctx, g.dialect.create(g.table)); err != nil {
		return fmt.Errorf("fencesql: creating the table %s: %w", g.table, err)
	}
	return nil
}

// Raise lets the claim pass, or not, as part of the transaction tx, and raises the mark to its token; the
// mark stays locked until tx ends. Call it before the first read of tx: what was read before may be overwritten by a
// late write of an earlier holder, whose change the caller would then lose.
//
// The error is a [fence.StaleError] if the rule refuses the claim, [fence.ErrInvalid] if the claim breaks a
// rule of the contract or tx is an *sql.DB, and [fence.ErrMalformed] if the stored mark is not one. Any other
// error is the database's, wrapped. The caller rolls back after each of them.
func (g *Guard) Raise(ctx context.Context, tx Tx, c fence.Claim) (err error) {
	defer g.observer.Conclude(guardName, c, &err)
	if err := cmp.Or(c.Check(), checkTx(tx)); err != nil {
		return err
	}
	pass := g.upsert
	if g.dialect == MySQL {
		pass = g.lockAndRaise
	}
	err = pass(ctx, tx, c)
	switch {
	case err == nil || errors.Is(err, fence.ErrStale):
		return err
	case strings.Contains(err.Error(), g.dialect.noTable()):
		return fmt.Errorf("fencesql: the table %s is missing; make it with Guard.CreateTable: %w", g.table, err)
	}
	return fmt.Errorf("fencesql: checking the mark of %q in %s: %w", c.Resource, g.table, err)
}

// upsert is the check where one statement can lock the mark, decide and say how it went. A condition that
// does not hold leaves the row locked too, so that the mark read afterwards is the one that refused.
func (g *Guard) upsert(ctx context.Context, tx Tx, c fence.Claim) error {
	p := g.dialect.placeholder
	passed := tx.QueryRowContext(ctx, "INSERT INTO "+g.table+" AS mark (resource, token) VALUES ("+p(1)+", "+p(2)+
		") ON CONFLICT (resource) DO UPDATE SET token = excluded.token WHERE mark.token BETWEEN 0 AND "+p(3)+
		" RETURNING token", []byte(c.Resource), int64(c.Token), int64(lets(g.rule, c.Token)))
	if _, err := scanToken(passed); !errors.Is(err, sql.ErrNoRows) {
		return err
	}
	highest, err := scanToken(tx.QueryRowContext(ctx, "SELECT token FROM "+g.table+" WHERE resource = "+p(1),
		[]byte(c.Resource)))
	if err != nil {
		return err
	}
	if err := g.rule.Check(c, highest); err != nil {
		return err
	}
	return errNotLocked
}

// lockAndRaise is the check for MySQL, which cannot return what an upsert has found, and whose count of
// rows depends on the connection. The upsert changes nothing: it makes the row, if there is none, and
// locks it without the deadlocks that INSERT IGNORE and a locking read of a missing row bring about.
func (g *Guard) lockAndRaise(ctx context.Context, tx Tx, c fence.Claim) error {
	resource := []byte(c.Resource)
	lock := "INSERT INTO " + g.table + " (resource, token) VALUES (?, 0) ON DUPLICATE KEY UPDATE token = token"
	if _, err := tx.ExecContext(ctx, lock, resource); err != nil {
		return err
	}
	highest, err := scanToken(tx.QueryRowContext(ctx, "SELECT token FROM "+g.table+" WHERE resource = ? FOR UPDATE",
		resource))
	if err != nil {
		return err
	}
	if err := g.rule.Check(c, highest); err != nil || c.Token == highest {
		return err
	}
	// The condition holds; it is there for a caller that checks outside a transaction, against the advice.
	_, err = tx.ExecContext(ctx, "UPDATE "+g.table+" SET token = ? WHERE resource = ? AND token < ?", int64(c.Token),
		resource, int64(c.Token))
	return err
}
