package fencesql_test

import (
	"context"
	"database/sql"
	"maps"
	"slices"
	"testing"

	"github.com/holdfast-io/holdfast/clients/fence/fencesql"
	"github.com/holdfast-io/holdfast/clients/fence/fencetest"
)

// database is one that runs, and what of its SQL the tests need to know.
type database struct {
	dialect   fencesql.Dialect
	driver    string
	dsn       func(addr string) string
	bytes     string // type of a column for bytes
	serial    string // type of a key that counts
	waiting   string // returns how many wait for a lock; empty if it cannot
	schema    string // where tables are
	retryable func(error) bool
	process   *fencetest.Process // nil if there is no server
}

// start starts the server and makes the tables.
func (d *database) start(tb testing.TB, s fencetest.Server) {
	tb.Helper()
	s.Ready = func(ctx context.Context, addr string) error {
		db, err := sql.Open(d.driver, d.dsn(addr))
		if err != nil {
			return err
		}
		defer func() { _ = db.Close() }()
		return db.PingContext(ctx)
	}
	d.process = s.Start(tb)
	d.prepare(tb)
}

func (d *database) prepare(tb testing.TB) {
	tb.Helper()
	db := d.open(tb)
	mustExec(tb, db, "CREATE TABLE history (id "+d.serial+" PRIMARY KEY, resource "+d.bytes+", value "+d.bytes+")")
	mustExec(tb, db, "CREATE TABLE orders (resource "+d.bytes+" PRIMARY KEY, value "+d.bytes+
		", fencing_token BIGINT NOT NULL DEFAULT 0)")
	if err := d.guard(tb).CreateTable(tb.Context(), db); err != nil {
		tb.Fatal(err)
	}
}

// open returns a pool of connections, which closes with the test.
func (d *database) open(tb testing.TB) *sql.DB {
	tb.Helper()
	addr := ""
	if d.process != nil {
		addr = d.process.Addr
	}
	return d.openAt(tb, addr)
}

// openAt returns a pool of connections to an address.
func (d *database) openAt(tb testing.TB, addr string) *sql.DB {
	tb.Helper()
	db, err := sql.Open(d.driver, d.dsn(addr))
	if err != nil {
		tb.Fatal(err)
	}
	const connections = 16
	db.SetMaxOpenConns(connections)
	db.SetMaxIdleConns(connections)
	tb.Cleanup(func() { _ = db.Close() })
	return db
}

func (d *database) restart(tb testing.TB) {
	tb.Helper()
	if d.process != nil {
		d.process.Restart(tb)
	}
}

func (d *database) guard(tb testing.TB, options ...fencesql.Option) *fencesql.Guard {
	tb.Helper()
	g, err := fencesql.New(d.dialect, options...)
	if err != nil {
		tb.Fatal(err)
	}
	return g
}

// sql writes n placeholders as the database has them, in place of as many question marks.
func (d *database) sql(query string) string {
	if d.dialect != fencesql.PostgreSQL {
		return query
	}
	n, numbered := 0, ""
	for _, r := range query {
		if r == '?' {
			n++
			numbered += "$" + string(rune('0'+n))
			continue
		}
		numbered += string(r)
	}
	return numbered
}

const insertOrder = "INSERT INTO orders (resource, value) VALUES (?, ?)"

// upsert returns the statement that sets the value of a resource.
func (d *database) upsert() string {
	if d.dialect == fencesql.MySQL {
		return insertOrder + " ON DUPLICATE KEY UPDATE value = VALUES(value)"
	}
	return d.sql(insertOrder + " ON CONFLICT (resource) DO UPDATE SET value = excluded.value")
}

// scenario is a test of one database.
type scenario struct {
	testing.TB
	*database
	db *sql.DB
}

func (s *scenario) exec(tx fencesql.Tx, query string, args ...any) {
	s.Helper()
	mustExec(s.TB, tx, s.sql(query), args...)
}

func (s *scenario) begin(level sql.IsolationLevel) *sql.Tx {
	s.Helper()
	tx, err := s.db.BeginTx(s.Context(), &sql.TxOptions{Isolation: level})
	if err != nil {
		s.Fatal(err)
	}
	s.Cleanup(func() { _ = tx.Rollback() })
	return tx
}

// conn returns one of its own, which closes with the test.
func (s *scenario) conn() *sql.Conn {
	s.Helper()
	c, err := s.db.Conn(s.Context())
	if err != nil {
		s.Fatal(err)
	}
	s.Cleanup(func() { _ = c.Close() })
	return c
}

func mustExec(tb testing.TB, tx fencesql.Tx, query string, args ...any) {
	tb.Helper()
	if _, err := tx.ExecContext(tb.Context(), query, args...); err != nil {
		tb.Fatalf("%s: %v", query, err)
	}
}

// all runs what each database has to pass.
func all(t *testing.T, d *database) {
	t.Helper()
	t.Run("Suite", func(t *testing.T) { fencetest.Run(t, subject(d)) })
	t.Run("ColumnSuite", func(t *testing.T) { fencetest.Run(t, columnSubject(d)) })
	for _, name := range slices.Sorted(maps.Keys(scenarios)) {
		t.Run(name, func(t *testing.T) { scenarios[name](&scenario{TB: t, database: d, db: d.open(t)}) })
	}
}

var scenarios = map[string]func(*scenario){
	"Rollback":          rollback,
	"DoRollsBack":       doRollsBack,
	"Crash":             crash,
	"CommitFails":       commitFails,
	"Waits":             waits,
	"OldSnapshot":       oldSnapshot,
	"Isolation":         isolation,
	"SpentInItsOwn":     spentInItsOwn,
	"LongestNames":      longestNames,
	"Bytewise":          bytewise,
	"Names":             names,
	"CreateTable":       createTable,
	"NoTable":           noTable,
	"NoTransaction":     noTransaction,
	"Connection":        connection,
	"MalformedMark":     malformedMark,
	"ColumnRollback":    columnRollback,
	"ColumnOutcome":     columnOutcome,
	"ColumnMalformed":   columnMalformed,
	"ColumnOldSnapshot": columnOldSnapshot,
}
