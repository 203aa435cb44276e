package fencefile_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"syscall"
	"testing"
	"time"

	"github.com/holdfast-io/holdfast/clients/fence"
)

// TestPausedHolder is the run that all texts draw, with real processes.
func TestPausedHolder(t *testing.T) {
	dir := t.TempDir()
	holder, next := mustRun(t, roleWriter, dir), mustRun(t, roleWriter, dir)
	holder.send(33)
	holder.line()
	holder.stop()
	holder.send(33) // what it would do next
	next.send(34)
	if got := next.line(); got != written {
		t.Fatalf("the next holder: %s", got)
	}
	holder.signal(syscall.SIGCONT)
	if got := holder.line(); got != refused {
		t.Errorf("the paused holder: %s", got)
	}
	if token, _ := readOrder(t, dir); token != 34 {
		t.Errorf("the file is of token %d", token)
	}
}

// TestPausedInside stops a process in the middle of its change: others wait, and go on when it is dead.
func TestPausedInside(t *testing.T) {
	dir := t.TempDir()
	d := mustOpen(t, dir)
	holder := mustRun(t, roleInside, dir)
	holder.send(33)
	holder.line()
	holder.stop()
	ctx, cancel := context.WithTimeout(t.Context(), 20*retryDelay)
	defer cancel()
	wantError(t, d.Write(ctx, claim(34), fileName, nil, 0o644), context.DeadlineExceeded)
	holder.kill()
	wantError(t, d.Write(t.Context(), claim(32), fileName, nil, 0o644), fence.ErrStale)
	mustWrite(t, d, 34, "paid")
}

// TestKilledWriters kills processes at random moments of their writes. The file is always whole and no
// older than what was confirmed, and the mark never lower than the token of the file.
func TestKilledWriters(t *testing.T) {
	dir := t.TempDir()
	d := mustOpen(t, dir)
	for token := fence.Token(2); token < 22; token++ {
		p := mustRun(t, roleRestless, dir)
		p.send(token)
		confirmed := p.writeFor(time.Duration(rand.IntN(20)) * time.Millisecond)
		stored, number := readOrder(t, dir)
		if stored != token || number < confirmed {
			t.Fatalf("the file is number %d of token %d, after number %d of token %d was confirmed", number, stored,
				confirmed, token)
		}
		stale, ok := errors.AsType[*fence.StaleError](d.Raise(t.Context(), claim(1)))
		if !ok || stale.Highest != token {
			t.Fatalf("%v, with a file of token %d", stale, stored)
		}
	}
}

// TestManyProcesses write with random tokens at the same time. Readers see whole files whose tokens only
// grow.
func TestManyProcesses(t *testing.T) {
	const processes, writes, tokens = 4, 40, 20
	dir := t.TempDir()
	mustWriteFirst(t, dir)
	var all []*process
	for range processes {
		p := mustRun(t, roleWriter, dir)
		for range writes {
			p.send(1 + fence.Token(rand.IntN(tokens)))
		}
		all = append(all, p)
	}
	var last fence.Token
	for i := range processes * writes {
		all[i%processes].line()
		token, _ := readOrder(t, dir)
		if token < last {
			t.Fatalf("a reader saw token %d after %d", token, last)
		}
		last = token
	}
}

func mustWriteFirst(tb testing.TB, dir string) {
	tb.Helper()
	if err := writeOrder(mustOpen(tb, dir), claim(1), 0); err != nil {
		tb.Fatal(err)
	}
}
