package fencesql_test

import (
	"database/sql"
	"strconv"
	"testing"

	"github.com/holdfast-io/holdfast/clients/fence/fencetest"
)

// BenchmarkGuard writes the same row in a transaction, bare and guarded, in turns of one block each.
func BenchmarkGuard(b *testing.B) {
	b.Run("PostgreSQL", func(b *testing.B) { compare(b, postgres(b)) })
	b.Run("MariaDB", func(b *testing.B) { compare(b, mariadb(b, "")) })
	b.Run("SQLite", func(b *testing.B) { compare(b, sqliteFile(b, "?_txlock=immediate&_pragma=journal_mode(WAL)")) })
}

func compare(b *testing.B, d *database) {
	b.Helper()
	db, guard, upsert := d.open(b), d.guard(b), d.upsert()
	written := 0
	write := func(tx *sql.Tx) error {
		written++
		_, err := tx.ExecContext(b.Context(), upsert, []byte("bench"), []byte(strconv.Itoa(written)))
		return err
	}
	bareWrite := func() error {
		tx, err := db.BeginTx(b.Context(), nil)
		if err != nil {
			return err
		}
		defer func() { _ = tx.Rollback() }()
		if err := write(tx); err != nil {
			return err
		}
		return tx.Commit()
	}
	guardedWrite := func() error { return guard.Do(b.Context(), db, claim("bench", 34), write) }

	fencetest.Compare(b, bareWrite, guardedWrite)
}
