package fencesql_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/holdfast-io/holdfast/clients/fence"
	"github.com/holdfast-io/holdfast/clients/fence/fencesql"
)

func (d *database) levels() []sql.IsolationLevel {
	if d.dialect == fencesql.SQLite {
		return []sql.IsolationLevel{sql.LevelDefault} // it has one, serializable
	}
	return []sql.IsolationLevel{sql.LevelReadCommitted, sql.LevelRepeatableRead, sql.LevelSerializable}
}

// isolation: at each level, and whether a transaction begins with the check or reads before, tokens in
// the order of the commits never go back, and the highest wins.
func isolation(s *scenario) {
	for _, level := range s.levels() {
		for _, order := range []string{"check first", "read first", "write first"} {
			resource := "isolation, " + level.String() + ", " + order
			s.writers(func(ctx context.Context, c fence.Claim) error {
				c.Resource = resource
				return s.transaction(ctx, level, order, c)
			})
			s.inOrder(resource)
		}
	}
}

const (
	writers      = 8
	writesOfEach = 8
	highestToken = 24
)

// writers runs the transaction concurrently under random tokens, again whenever the database asks for
// that. The highest token is always among them.
func (s *scenario) writers(transaction func(context.Context, fence.Claim) error) {
	s.Helper()
	ctx, cancel := context.WithTimeout(s.Context(), time.Minute)
	defer cancel()
	var all sync.WaitGroup
	for w := range writers {
		all.Go(func() {
			for i := range writesOfEach {
				token := fence.Token(1 + rand.IntN(highestToken))
				if w+i == 0 {
					token = highestToken
				}
				err := transaction(ctx, claim("", token))
				for s.retryable(err) && ctx.Err() == nil {
					err = transaction(ctx, claim("", token))
				}
				if err != nil && !errors.Is(err, fence.ErrStale) {
					s.Errorf("token %d: %v", token, err)
				}
			}
		})
	}
	all.Wait()
}

func (s *scenario) transaction(ctx context.Context, level sql.IsolationLevel, order string, c fence.Claim) error {
	tx, err := s.db.BeginTx(ctx, &sql.TxOptions{Isolation: level})
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }()
	check := func() error { return s.guard(s.TB).Raise(ctx, tx, c) }
	read := func() error {
		_, err := s.value(ctx, tx, c.Resource)
		return err
	}
	write := func() error {
		_, err := tx.ExecContext(ctx, s.upsert(), []byte(c.Resource), []byte(c.Token.String()))
		return err
	}
	remember := func() error { return s.remember(ctx, tx, c, c.Token.String()) }
	steps := map[string][]func() error{
		"check first": {check, read, write, remember, tx.Commit},
		"read first":  {read, check, write, remember, tx.Commit},
		"write first": {write, check, remember, tx.Commit},
	}
	for _, step := range steps[order] {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

func (s *scenario) inOrder(resource string) {
	s.Helper()
	last := ""
	for _, value := range s.history(s.TB, resource) {
		if value < last {
			s.Errorf("%s: %s was committed after %s", resource, value, last)
		}
		last = value
	}
	if want := fence.Token(highestToken).String(); last != want {
		s.Errorf("%s: the last token is %q, want %q", resource, last, want)
	}
	s.holds(resource, last)
}

// waits: the mark is locked until the transaction ends, whether that raised it or not. Only then a lower
// token is refused, or passes because the higher one was rolled back.
func waits(s *scenario) {
	if s.waiting == "" {
		s.Skip("SQLite does not show waiting transactions; it has one writer")
	}
	for _, level := range s.levels() {
		for _, seen := range []fence.Token{31, 33} {
			for _, commit := range []bool{true, false} {
				s.waitsFor(level, seen, commit)
			}
		}
	}
}

// waitsFor lets another transaction wait for one under 33, where seen is the mark before.
func (s *scenario) waitsFor(level sql.IsolationLevel, seen fence.Token, commit bool) {
	s.Helper()
	resource := fmt.Sprintf("waits, %v, after %d, %t", level, seen, commit)
	s.passes(claim(resource, seen))
	tx, other := s.begin(level), s.begin(level)
	if err := s.guard(s.TB).Raise(s.Context(), tx, claim(resource, 33)); err != nil {
		s.Fatal(err)
	}
	outcome := make(chan error, 1)
	go func() { outcome <- s.guard(s.TB).Raise(s.Context(), other, claim(resource, 32)) }()
	s.awaitWaiter(s.db)
	end := tx.Rollback
	if commit {
		end = tx.Commit
	}
	if err := end(); err != nil {
		s.Fatal(err)
	}
	err := <-outcome
	switch {
	case s.retryable(err):
	case commit || seen > 32:
		wantStale(s.TB, err, 32, 33)
	case err != nil:
		s.Errorf("%s: %v, although no other transaction committed", resource, err)
	}
	_ = other.Rollback()
}

// awaitWaiter asks on a connection that does not wait itself.
func (s *scenario) awaitWaiter(on fencesql.Tx) {
	s.Helper()
	ctx, cancel := context.WithTimeout(s.Context(), time.Minute)
	defer cancel()
	again := time.NewTicker(5 * time.Millisecond)
	defer again.Stop()
	for waiting := 0; waiting == 0; <-again.C {
		if err := on.QueryRowContext(ctx, s.waiting).Scan(&waiting); err != nil {
			s.Fatalf("no transaction waits for the lock: %v", err)
		}
	}
}

// oldSnapshot: a transaction that began to read before a higher token passed does not get in with a lower
// one, and with one that is higher still only if its database can do that safely.
func oldSnapshot(s *scenario) {
	for _, level := range s.levels() {
		resource := "snapshot " + level.String()
		s.passes(claim(resource, 33))
		for _, token := range []fence.Token{33, 35} {
			tx := s.begin(level)
			if _, err := s.value(s.Context(), tx, "another"); err != nil {
				s.Fatal(err)
			}
			if !s.overtake(claim(resource, 34)) {
				return
			}
			err := s.guard(s.TB).Raise(s.Context(), tx, claim(resource, token))
			switch {
			case s.retryable(err):
			case token < 34:
				wantStale(s.TB, err, token, 34)
			case err != nil:
				s.Errorf("%v: token %d: %v", level, token, err)
			}
			_ = tx.Rollback()
		}
	}
}

// overtake lets the claim pass, unless a reader excludes all writers; then it waits here for good.
func (s *scenario) overtake(c fence.Claim) bool {
	s.Helper()
	if s.dialect != fencesql.SQLite {
		s.passes(c)
		return true
	}
	conn := s.conn()
	s.exec(conn, "PRAGMA busy_timeout = 0")
	err := s.guard(s.TB).Do(s.Context(), conn, c, func(*sql.Tx) error { return nil })
	s.exec(conn, "PRAGMA busy_timeout = 60000")
	if err != nil && !s.retryable(err) {
		s.Fatal(err)
	}
	return err == nil
}
