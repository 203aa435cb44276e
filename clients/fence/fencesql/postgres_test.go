package fencesql_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"
	_ "github.com/jackc/pgx/v5/stdlib"

	"github.com/holdfast-io/holdfast/clients/fence/fencesql"
	"github.com/holdfast-io/holdfast/clients/fence/fencetest"
)

func TestPostgreSQL(t *testing.T) {
	d := postgres(t)
	all(t, d)
	t.Run("CreateTableMeetsAnother", func(t *testing.T) {
		createTableMeetsAnother(&scenario{TB: t, database: d, db: d.open(t)})
	})
	t.Run("TypeInTheWay", func(t *testing.T) { typeInTheWay(&scenario{TB: t, database: d, db: d.open(t)}) })
}

// createTableMeetsAnother that commits between two looks of PostgreSQL's: there is no such table yet, and
// then already the type of its rows.
func createTableMeetsAnother(s *scenario) {
	first, second := s.conn(), s.conn()
	g := s.guard(s.TB, fencesql.WithTable("met"))
	create := func(on fencesql.DB) error { return g.CreateTable(s.Context(), on) }
	// Afterwards the connection knows each type but the table's own.
	if err := create(second); err != nil {
		s.Fatal(err)
	}
	s.exec(second, "DROP TABLE met")

	s.exec(first, "BEGIN")
	if err := create(first); err != nil {
		s.Fatal(err)
	}
	s.exec(first, "LOCK TABLE pg_type IN ACCESS EXCLUSIVE MODE")
	created := make(chan error, 1)
	go func() { created <- create(second) }()
	s.awaitWaiter(first)
	s.exec(first, "COMMIT")
	if err := <-created; err != nil {
		s.Error(err)
	}
	s.exec(s.db, "DROP TABLE met")
}

// typeInTheWay of the table is an error, and not taken for the table.
func typeInTheWay(s *scenario) {
	s.exec(s.db, "CREATE TYPE mood AS ENUM ('calm')")
	err := s.guard(s.TB, fencesql.WithTable("mood")).CreateTable(s.Context(), s.db)
	if err == nil || !strings.Contains(err.Error(), `type "mood" already exists`) {
		s.Errorf("got %v, want an error that says what is in the way", err)
	}
	s.exec(s.db, "DROP TYPE mood")
}

// postgres starts a server of its own.
func postgres(tb testing.TB) *database {
	tb.Helper()
	d := &database{
		dialect:   fencesql.PostgreSQL,
		driver:    "pgx",
		dsn:       func(addr string) string { return "postgres://postgres@" + addr + "/postgres" },
		bytes:     "bytea",
		serial:    "bigserial",
		waiting:   "SELECT count(*) FROM pg_locks WHERE NOT granted",
		retryable: postgresRetryable,
		schema:    "public",
	}
	d.start(tb, fencetest.PostgreSQL(tb))
	return d
}

func postgresRetryable(err error) bool {
	var e *pgconn.PgError
	return errors.As(err, &e) && (e.Code == "40001" || e.Code == "40P01")
}
