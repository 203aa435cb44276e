package fencesql

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/holdfast-io/holdfast/clients/fence"
)

// Column is a token in each row of a table of the caller's, BIGINT NOT NULL DEFAULT 0: the mark of what
// the row stands for. It may be used concurrently.
type Column struct {
	guard             *Guard // its table is not used
	table, key, token string
}

// Column returns the column named token of a table whose rows are distinguished by the column named key. The
// names stand in the statements as they are; the error says which is wrong. Rule and dialect are the
// guard's, whose own table is not used.
func (g *Guard) Column(table, key, token string) (*Column, error) {
	err := errors.Join(checkName("table", table), checkName("key column", key), checkName("token column", token))
	if err != nil {
		return nil, err
	}
	return &Column{guard: g, table: table, key: key, token: token}, nil
}

// Update writes the row with that key, and the claim's token into it, if the token there lets the claim
// pass. The assignments are those of an UPDATE, say "status = ?, paid = ?", or $1 and $2 for PostgreSQL,
// and args their values. Which row is what the claim's resource names, is for the caller to know.
//
// The error is a [fence.StaleError] if the rule refuses the claim, [sql.ErrNoRows] if there is no such row,
// [fence.ErrInvalid] if the claim breaks a rule of the contract or tx is an *sql.DB, and
// [fence.ErrMalformed] if the stored token is not one; nothing was written then. Any other error is the
// database's, wrapped. The caller rolls back after each of them.
func (c *Column) Update(ctx context.Context, tx Tx, claim fence.Claim, key any, assignments string, args ...any) error {
	return c.write(ctx, tx, claim, key, assignments+", ", args)
}

// Raise writes the claim's token into the row with that key, if the token there lets the claim pass, and
// leaves the rest of the row as it is. Call it before the first read of tx, if the update depends on what was read.
// Errors are those of [Column.Update].
func (c *Column) Raise(ctx context.Context, tx Tx, claim fence.Claim, key any) error {
	return c.write(ctx, tx, claim, key, "", nil)
}

// write executes an UPDATE with assignments, each followed by a comma, and that of the token.
func (c *Column) write(ctx context.Context, tx Tx, claim fence.Claim, key any, assignments string,
	args []any) (err error) {
	defer c.guard.observer.Conclude(guardName, claim, &err)
	if err := cmp.Or(claim.Check(), checkTx(tx)); err != nil {
		return err
	}
	p, n := c.guard.dialect.placeholder, len(args)
	update := "UPDATE " + c.table + " SET " + assignments + c.token + " = " + p(n+1) +
		" WHERE " + c.key + " = " + p(n+2) + " AND " + c.token + " BETWEEN 0 AND " + p(n+3)
	args = append(args[:n:n], int64(claim.Token), key, int64(lets(c.guard.rule, claim.Token)))

	written, err := c.exec(ctx, tx, update, args)
	if err != nil || written {
		return err
	}
	if err := c.lock(ctx, tx, claim, key); err != nil {
		return err
	}
	// The row lets the claim pass and is locked: it came just now, or it is as it should be already, and
	// MySQL counts only rows that change.
	written, err = c.exec(ctx, tx, update, args)
	if err == nil && !written && c.guard.dialect != MySQL {
		return fmt.Errorf("fencesql: %s of %s: %w", c.token, c.table, errNotLocked)
	}
	return err
}

func (c *Column) exec(ctx context.Context, tx Tx, update string, args []any) (written bool, err error) {
	result, err := tx.ExecContext(ctx, update, args...)
	if err != nil {
		return false, fmt.Errorf("fencesql: updating %s: %w", c.table, err)
	}
	rows, err := result.RowsAffected()
	if err != nil {
		return false, fmt.Errorf("fencesql: updating %s: how many rows: %w", c.table, err)
	}
	return rows > 0, nil
}

// lock locks the row and checks the claim against its token.
func (c *Column) lock(ctx context.Context, tx Tx, claim fence.Claim, key any) error {
	highest, err := scanToken(tx.QueryRowContext(ctx, "SELECT "+c.token+" FROM "+c.table+
		" WHERE "+c.key+" = "+c.guard.dialect.placeholder(1)+c.guard.dialect.forUpdate(), key))
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return fmt.Errorf("fencesql: %s has no row with %s %v: %w", c.table, c.key, key, err)
	case err != nil:
		return fmt.Errorf("fencesql: reading %s of the row with %s %v of %s: %w", c.token, c.key, key, c.table, err)
	}
	return c.guard.rule.Check(claim, highest)
}
