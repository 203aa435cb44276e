package fencesql_test

import (
	"context"
	"database/sql"
	"errors"
	"testing"

	"github.com/holdfast-io/holdfast/clients/fence"
	"github.com/holdfast-io/holdfast/clients/fence/fencesql"
)

// Whatever has these methods will do; sqlx.Tx and sqlx.DB are of this kind.
var (
	_ fencesql.Tx = struct{ *sql.Tx }{}
	_ fencesql.Tx = (*sql.Conn)(nil)
	_ fencesql.DB = struct{ *sql.DB }{}
	_ fencesql.DB = (*sql.Conn)(nil)
)

func claim(resource string, token fence.Token) fence.Claim {
	return fence.Claim{Resource: resource, Token: token}
}

// passes checks that the claim is committed, with a write beside it.
func (s *scenario) passes(c fence.Claim) {
	s.Helper()
	r := &guarded{database: s.database, db: s.db, guard: s.guard(s.TB)}
	if err := r.Write(s.Context(), c, c.Token.String()); err != nil {
		s.Fatalf("%d: %v", c.Token, err)
	}
}

func (s *scenario) holds(resource, want string) {
	s.Helper()
	if got, err := s.value(s.Context(), s.db, resource); err != nil || got != want {
		s.Errorf("%q is %q, %v; want %q", resource, got, err, want)
	}
}

func wantStale(tb testing.TB, err error, token, highest fence.Token) {
	tb.Helper()
	var stale *fence.StaleError
	if !errors.As(err, &stale) || stale.Token != token || stale.Highest != highest {
		tb.Errorf("%v; want a StaleError, %d after %d", err, token, highest)
	}
}

// rollback of the caller's transaction takes the mark back too, the first and a later one.
func rollback(s *scenario) {
	for _, before := range []fence.Token{1, 2} {
		tx := s.begin(sql.LevelDefault)
		if err := s.guard(s.TB).Raise(s.Context(), tx, claim("rollback", 34)); err != nil {
			s.Fatal(err)
		}
		s.exec(tx, s.upsert(), []byte("rollback"), []byte("by 34"))
		if err := tx.Rollback(); err != nil {
			s.Fatal(err)
		}
		s.passes(claim("rollback", before))
		s.holds("rollback", before.String())
	}
}

func doRollsBack(s *scenario) {
	g, mistake := s.guard(s.TB), errors.New("mistake")
	write := func(outcome error) func(*sql.Tx) error {
		return func(tx *sql.Tx) error {
			s.exec(tx, s.upsert(), []byte("do"), []byte("lost"))
			return outcome
		}
	}
	if err := g.Do(s.Context(), s.db, claim("do", 34), write(mistake)); !errors.Is(err, mistake) {
		s.Errorf("got %v, want what the function returned", err)
	}
	func() {
		defer func() {
			if recover() == nil {
				s.Error("the panic was swallowed")
			}
		}()
		_ = g.Do(s.Context(), s.db, claim("do", 34), func(tx *sql.Tx) error { panic(write(nil)(tx)) })
	}()
	s.passes(claim("do", 33))
	err := g.Do(s.Context(), s.db, claim("do", 32), func(*sql.Tx) error {
		s.Error("a stale holder was let in")
		return nil
	})
	wantStale(s.TB, err, 32, 33)
	s.holds("do", fence.Token(33).String())
	if open := s.db.Stats().InUse; open != 0 {
		s.Errorf("%d connections are not given back", open)
	}
}

// crash of the server before the commit: neither the mark nor the write is there.
func crash(s *scenario) {
	if s.process == nil {
		s.Skip("there is no server")
	}
	s.passes(claim("crash", 1))
	err := s.guard(s.TB).Do(s.Context(), s.db, claim("crash", 34), func(tx *sql.Tx) error {
		s.exec(tx, s.upsert(), []byte("crash"), []byte("lost"))
		s.restart(s.TB)
		return nil
	})
	if err == nil || errors.Is(err, fence.ErrStale) {
		s.Errorf("the commit that failed says %v", err)
	}
	s.holds("crash", fence.Token(1).String())
	s.passes(claim("crash", 2))
}

// commitFails because the transaction's context has ended.
func commitFails(s *scenario) {
	ctx, cancel := context.WithCancel(s.Context())
	err := s.guard(s.TB).Do(ctx, s.db, claim("commit", 34), func(*sql.Tx) error {
		cancel()
		return nil
	})
	if !errors.Is(err, context.Canceled) {
		s.Errorf("got %v, want %v", err, context.Canceled)
	}
	s.passes(claim("commit", 33))
}

// spentInItsOwn: a second check in one transaction sees the first.
func spentInItsOwn(s *scenario) {
	tx := s.begin(sql.LevelDefault)
	g := s.guard(s.TB, fencesql.WithRule(fence.Once))
	if err := g.Raise(s.Context(), tx, claim("own", 5)); err != nil {
		s.Fatal(err)
	}
	if err := g.Raise(s.Context(), tx, claim("own", 5)); !errors.Is(err, fence.ErrSpent) {
		s.Errorf("got %v, want %v", err, fence.ErrSpent)
	}
	wantStale(s.TB, s.guard(s.TB).Raise(s.Context(), tx, claim("own", 4)), 4, 5)
	if err := s.guard(s.TB).Raise(s.Context(), tx, claim("own", 5)); err != nil {
		s.Errorf("the same token under the other rule: %v", err)
	}
}

func noTransaction(s *scenario) {
	for _, db := range []fencesql.Tx{s.db, struct{ *sql.DB }{s.db}} {
		if err := s.guard(s.TB).Raise(s.Context(), db, claim("none", 1)); err == nil {
			s.Error("Raise accepts a *sql.DB")
		}
		if err := s.column(s.TB).Update(s.Context(), db, claim("none", 1), "none", "value = value"); err == nil {
			s.Error("Update accepts a *sql.DB")
		}
	}
	s.passes(claim("none", 1))
}

// connection on which the caller has begun a transaction by hand.
func connection(s *scenario) {
	conn := s.conn()
	s.exec(conn, "BEGIN")
	if err := s.guard(s.TB).Raise(s.Context(), conn, claim("connection", 34)); err != nil {
		s.Error(err)
	}
	s.exec(conn, "ROLLBACK")
	if err := s.guard(s.TB).Do(s.Context(), conn, claim("connection", 33), func(*sql.Tx) error { return nil }); err != nil {
		s.Error(err)
	}
}
