package fencesql

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/holdfast-io/holdfast/clients/fence"
)

// Tx is the caller's transaction: an [sql.Tx], also as part of something larger such as sqlx.Tx, or an
// [sql.Conn] on which BEGIN was executed. On a connection without that, nothing is guaranteed.
type Tx interface {
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}

// DB is where transactions begin: an [sql.DB], also as part of something larger, or an [sql.Conn].
type DB interface {
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
	BeginTx(ctx context.Context, options *sql.TxOptions) (*sql.Tx, error)
}

var (
	errNoTx = fmt.Errorf("fencesql: %w: this is a *sql.DB, where every statement is a transaction of its own; "+
		"begin one, or use Guard.Do", fence.ErrInvalid)
	errNotLocked = errors.New("the token changed between two statements; use a transaction, and run it again")
)

// checkTx finds out those that are surely no transaction.
func checkTx(tx Tx) error {
	if _, ok := tx.(interface{ Begin() (*sql.Tx, error) }); ok {
		return errNoTx
	}
	return nil
}

// Do runs write in a transaction of the database's default isolation level, after [Guard.Raise], and
// commits. What write depends on, it reads in tx. If the claim is refused write is not called; if it returns an error,
// which Do returns as it is, or panics, everything is rolled back. An error of the commit is [fence.ErrUnknown]: it
// leaves open whether everything took effect or nothing. With any other error nothing did. No part is repeated by
// database/sql but the beginning.
func (g *Guard) Do(ctx context.Context, db DB, c fence.Claim, write func(tx *sql.Tx) error) error {
	if err := c.Check(); err != nil {
		return err
	}
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return fmt.Errorf("fencesql: beginning a transaction for %q: %w", c.Resource, err)
	}
	defer func() { _ = tx.Rollback() }() // does nothing after the commit
	if err := g.Raise(ctx, tx, c); err != nil {
		return err
	}
	if err := write(tx); err != nil {
		return err
	}
	if err := tx.Commit(); err != nil {
		if errors.Is(err, sql.ErrTxDone) && ctx.Err() != nil {
			err = ctx.Err() // which has rolled back already
		}
		return fmt.Errorf("fencesql: committing a transaction for %q: %w: %w", c.Resource, fence.ErrUnknown, err)
	}
	return nil
}
