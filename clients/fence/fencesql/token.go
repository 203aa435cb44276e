package fencesql

import (
	"database/sql"
	"fmt"
	"strconv"

	"github.com/holdfast-io/holdfast/clients/fence"
	"github.com/holdfast-io/holdfast/messages"
)

// lets returns the highest mark that lets the token pass.
func lets(r fence.Rule, t fence.Token) fence.Token {
	if r == fence.Once {
		return t - 1
	}
	return t
}

// scanToken reads a stored token; 0 is none yet.
func scanToken(row *sql.Row) (fence.Token, error) {
	var stored sql.NullString // whatever there is, so that the error can show it
	if err := row.Scan(&stored); err != nil {
		return 0, err
	}
	t, err := strconv.ParseUint(stored.String, 10, 64)
	if err != nil || fence.Token(t) > messages.MaxToken {
		return 0, fmt.Errorf("%w: %q, null: %t; want 0 to %d", fence.ErrMalformed, stored.String, !stored.Valid,
			messages.MaxToken)
	}
	return fence.Token(t), nil
}
