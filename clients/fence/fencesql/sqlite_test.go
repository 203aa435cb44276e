package fencesql_test

import (
	"errors"
	"testing"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"github.com/holdfast-io/holdfast/clients/fence/fencesql"
)

// TestSQLite is with the journal that is the default, TestSQLiteWAL with the other one.
func TestSQLite(t *testing.T) { all(t, sqliteFile(t, "?_txlock=immediate")) }
func TestSQLiteWAL(t *testing.T) {
	all(t, sqliteFile(t, "?_txlock=immediate&_pragma=journal_mode(WAL)"))
}

// TestSQLiteDeferred is with transactions that take the write lock only when they write.
func TestSQLiteDeferred(t *testing.T)    { all(t, sqliteFile(t, "?")) }
func TestSQLiteDeferredWAL(t *testing.T) { all(t, sqliteFile(t, "?_pragma=journal_mode(WAL)")) }

// sqliteFile is a database in a folder of its own.
func sqliteFile(tb testing.TB, parameters string) *database {
	tb.Helper()
	d, _ := sqliteAt(tb, parameters)
	return d
}

// sqliteAt returns the database and its file.
func sqliteAt(tb testing.TB, parameters string) (d *database, file string) {
	tb.Helper()
	file = tb.TempDir() + "/test.db"
	d = &database{
		dialect: fencesql.SQLite,
		driver:  "sqlite",
		dsn: func(string) string {
			return "file:" + file + parameters + "&_pragma=busy_timeout(60000)&_pragma=synchronous(FULL)"
		},
		bytes:     "BLOB",
		serial:    "INTEGER",
		retryable: sqliteRetryable,
		schema:    "main",
	}
	d.prepare(tb)
	return d, file
}

func sqliteRetryable(err error) bool {
	var e *sqlite.Error
	return errors.As(err, &e) && e.Code()&0xff == sqlite3.SQLITE_BUSY // also its extended codes
}
