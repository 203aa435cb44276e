package fencesql_test

import (
	"database/sql"
	"errors"
	"strings"
	"sync"

	"github.com/holdfast-io/holdfast/clients/fence"
	"github.com/holdfast-io/holdfast/clients/fence/fencesql"
)

// longestNames differ only in their last byte.
func longestNames(s *scenario) {
	stem := strings.Repeat("é🔒", 512/6) + "x"
	for _, last := range []string{"a", "A", " "} {
		s.passes(claim(stem[:511]+last, 7))
	}
	for _, last := range []string{"a", "A", " "} {
		s.holds(stem[:511]+last, fence.Token(7).String())
	}
	err := s.guard(s.TB).Marks(s.db).Raise(s.Context(), claim(stem[:511]+"too long", 7))
	if !errors.Is(err, fence.ErrInvalid) {
		s.Errorf("got %v, want %v", err, fence.ErrInvalid)
	}
}

// bytewise: names that a collation takes for equal have marks of their own.
func bytewise(s *scenario) {
	for i, name := range []string{"lock", "LOCK", "lock ", "lóck", "ﬂock", "flock", "İ", "i", "ß", "ss", "😀", "😁", "'",
		`\'`, "%"} {
		s.passes(claim("bytewise "+name, fence.Token(100-i)))
	}
	wantStale(s.TB, s.guard(s.TB).Marks(s.db).Raise(s.Context(), claim("bytewise lock", 99)), 99, 100)
}

func names(s *scenario) {
	for _, name := range []string{"", "a b", "a;", "a.b.c", ".a", "a.", "1a", "é", `"a"`, "a\n",
		strings.Repeat("a", 64)} {
		if _, err := fencesql.New(s.dialect, fencesql.WithTable(name)); !errors.Is(err, fence.ErrInvalid) {
			s.Errorf("the table %q: %v, want ErrInvalid", name, err)
		}
		if _, err := s.guard(s.TB).Column("orders", name, "token"); !errors.Is(err, fence.ErrInvalid) {
			s.Errorf("the key %q: %v, want ErrInvalid", name, err)
		}
	}
}

// createTable by many at once, under names of both kinds, and again without harm to what is there.
func createTable(s *scenario) {
	for _, name := range []string{"Marks_1", s.schema + ".marks_2", strings.Repeat("m", 63)} {
		g := s.guard(s.TB, fencesql.WithTable(name))
		var all sync.WaitGroup
		for range 8 {
			all.Go(func() {
				if err := g.CreateTable(s.Context(), s.db); err != nil {
					s.Error(err)
				}
			})
		}
		all.Wait()
		m := g.Marks(s.db)
		if err := m.Raise(s.Context(), claim("mine", 34)); err != nil {
			s.Fatal(err)
		}
		if err := g.CreateTable(s.Context(), s.db); err != nil {
			s.Error(err)
		}
		wantStale(s.TB, m.Raise(s.Context(), claim("mine", 33)), 33, 34)
		s.exec(s.db, "DROP TABLE "+name)
	}
}

func noTable(s *scenario) {
	g := s.guard(s.TB, fencesql.WithTable("nowhere"))
	err := g.Marks(s.db).Raise(s.Context(), claim("x", 1))
	if err == nil || !strings.Contains(err.Error(), "nowhere") || !strings.Contains(err.Error(), "CreateTable") {
		s.Errorf("got %v, want an error that says which table is missing and how to make it", err)
	}
}

// malformedMark in a table of other making is an error, and stays.
func malformedMark(s *scenario) {
	s.exec(s.db, "CREATE TABLE strange (resource "+s.bytes+" PRIMARY KEY, token BIGINT)")
	for _, rule := range []fence.Rule{fence.Repeatable, fence.Once} {
		m := s.guard(s.TB, fencesql.WithTable("strange"), fencesql.WithRule(rule)).Marks(s.db)
		for _, stored := range []any{int64(-1), int64(900_000_000_000_001), int64(-1 << 63), nil} {
			s.exec(s.db, "INSERT INTO strange (resource, token) VALUES (?, ?)", []byte("x"), stored)
			for _, token := range []fence.Token{1, 900_000_000_000_000} {
				err := m.Raise(s.Context(), claim("x", token))
				if !errors.Is(err, fence.ErrMalformed) || errors.Is(err, fence.ErrStale) ||
					!strings.Contains(err.Error(), `"x" in strange`) {
					s.Errorf("the mark %v, token %d: %v", stored, token, err)
				}
			}
			var kept sql.NullInt64
			if err := s.db.QueryRowContext(s.Context(), "SELECT token FROM strange").Scan(&kept); err != nil {
				s.Fatal(err)
			}
			if value, _ := kept.Value(); value != stored {
				s.Errorf("the mark %v became %v", stored, value)
			}
			s.exec(s.db, "DELETE FROM strange")
		}
	}
	s.exec(s.db, "DROP TABLE strange")
	if _, err := s.db.ExecContext(s.Context(), s.sql("INSERT INTO holdfast_marks (resource, token) VALUES (?, -1)"),
		[]byte("x")); err == nil {
		s.Error("the table that CreateTable makes takes a negative mark")
	}
}
