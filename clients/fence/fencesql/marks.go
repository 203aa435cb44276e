package fencesql

import (
	"context"
	"database/sql"

	"github.com/holdfast-io/holdfast/clients/fence"
)

// Marks returns the marks of the guard in db, for data that is elsewhere. Each Raise is a transaction of
// its own; see [Guard.Do] for its errors.
func (g *Guard) Marks(db DB) fence.Marks { return &marks{Guard: g, db: db} }

type marks struct {
	*Guard
	db DB
}

// Raise is documented at [fence.Marks].
func (m *marks) Raise(ctx context.Context, c fence.Claim) error {
	return m.Do(ctx, m.db, c, func(*sql.Tx) error { return nil })
}
