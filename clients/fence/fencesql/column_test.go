package fencesql_test

import (
	"database/sql"
	"errors"
	"strings"

	"github.com/holdfast-io/holdfast/clients/fence"
	"github.com/holdfast-io/holdfast/clients/fence/fencesql"
)

func (s *scenario) insert(resource string, token fence.Token) {
	s.Helper()
	s.exec(s.db, "INSERT INTO orders (resource, value, fencing_token) VALUES (?, ?, ?)", []byte(resource),
		[]byte("new"), int64(token))
}

// update is the column form in a transaction of its own.
func (s *scenario) update(rule fence.Rule, c fence.Claim, value string) error {
	s.Helper()
	tx := s.begin(sql.LevelDefault)
	err := s.column(s.TB, fencesql.WithRule(rule)).Update(s.Context(), tx, c, []byte(c.Resource), s.sql("value = ?"),
		[]byte(value))
	if err != nil {
		_ = tx.Rollback()
		return err
	}
	return tx.Commit()
}

// columnOutcome distinguishes the reasons for an update of no rows, also where nothing had to change.
func columnOutcome(s *scenario) {
	s.insert("outcome", 0)
	for _, value := range []string{"paid", "paid", "shipped"} {
		if err := s.update(fence.Repeatable, claim("outcome", 33), value); err != nil {
			s.Fatal(err)
		}
		s.holds("outcome", value)
	}
	wantStale(s.TB, s.update(fence.Repeatable, claim("outcome", 32), "lost"), 32, 33)
	wantStale(s.TB, s.update(fence.Once, claim("outcome", 33), "shipped"), 33, 33)
	if err := s.update(fence.Once, claim("outcome", 34), "shipped"); err != nil {
		s.Error(err)
	}
	s.holds("outcome", "shipped")
	err := s.update(fence.Repeatable, claim("nobody", 35), "lost")
	if !errors.Is(err, sql.ErrNoRows) || errors.Is(err, fence.ErrStale) {
		s.Errorf("no such row: %v", err)
	}
	if err := s.update(fence.Repeatable, claim("outcome", 0), "lost"); !errors.Is(err, fence.ErrInvalid) {
		s.Errorf("no token: %v", err)
	}
}

// columnRollback takes the token back with the row.
func columnRollback(s *scenario) {
	s.insert("column", 1)
	tx := s.begin(sql.LevelDefault)
	c := s.column(s.TB)
	if err := c.Update(s.Context(), tx, claim("column", 34), []byte("column"), s.sql("value = ?"), []byte("lost")); err != nil {
		s.Fatal(err)
	}
	wantStale(s.TB, c.Update(s.Context(), tx, claim("column", 33), []byte("column"), "value = value"), 33, 34)
	if err := tx.Rollback(); err != nil {
		s.Fatal(err)
	}
	s.holds("column", "new")
	if err := s.update(fence.Repeatable, claim("column", 2), "by 2"); err != nil {
		s.Error(err)
	}
}

func columnMalformed(s *scenario) {
	s.exec(s.db, "CREATE TABLE odd (id BIGINT PRIMARY KEY, value BIGINT, token BIGINT)")
	c, err := s.guard(s.TB).Column("odd", "id", "token")
	if err != nil {
		s.Fatal(err)
	}
	for id, stored := range []any{int64(-1), int64(900_000_000_000_001), nil} {
		s.exec(s.db, "INSERT INTO odd (id, value, token) VALUES (?, 0, ?)", id, stored)
		tx := s.begin(sql.LevelDefault)
		err := c.Update(s.Context(), tx, claim("odd", 900_000_000_000_000), id, "value = 1")
		if !errors.Is(err, fence.ErrMalformed) || errors.Is(err, fence.ErrStale) || errors.Is(err, sql.ErrNoRows) ||
			!strings.Contains(err.Error(), "token") {
			s.Errorf("the token %v: %v", stored, err)
		}
		_ = tx.Rollback()
	}
	s.exec(s.db, "DROP TABLE odd")
}

// columnOldSnapshot: no row updated means stale also where the transaction's own reads do not show it yet.
func columnOldSnapshot(s *scenario) {
	if s.dialect == fencesql.SQLite {
		s.Skip("SQLite has one writer, and refuses a write after an old snapshot")
	}
	for _, level := range s.levels() {
		resource := "old " + level.String()
		s.insert(resource, 32)
		tx := s.begin(level)
		if _, err := s.value(s.Context(), tx, "another"); err != nil {
			s.Fatal(err)
		}
		if err := s.update(fence.Repeatable, claim(resource, 34), "by 34"); err != nil {
			s.Fatal(err)
		}
		err := s.column(s.TB).Update(s.Context(), tx, claim(resource, 33), []byte(resource), s.sql("value = ?"),
			[]byte("lost"))
		if !s.retryable(err) {
			wantStale(s.TB, err, 33, 34)
		}
		_ = tx.Rollback()
		s.holds(resource, "by 34")
	}
}
