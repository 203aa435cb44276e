package journaltest

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/holdfast-io/holdfast/messages"
	"github.com/holdfast-io/holdfast/messages/journal"
)

// Journal is actors.Journal, which this package does not import so that the tests of package
// actors may import this one.
type Journal interface {
	Replay(ctx context.Context, after uint64, apply func(position uint64, r *journal.Record) error) (last uint64,
		err error)
	Append(ctx context.Context, after uint64, r *journal.Record) error
	Purge(ctx context.Context, through uint64, pages []string) error
}

// Conformance runs the suite. Each call of open returns a new, empty journal.
func Conformance(t *testing.T, open func(t *testing.T) Journal) {
	t.Helper()
	ConformanceIn(t, func(t *testing.T, check func(*testing.T, Journal)) { check(t, open(t)) })
}

// ConformanceIn is [Conformance] for journals that need something around each check: run calls check with a new, empty
// journal.
func ConformanceIn(t *testing.T, run func(t *testing.T, check func(t *testing.T, j Journal))) {
	t.Helper()
	for name, check := range map[string]func(*testing.T, Journal){
		"an empty journal has nothing":          emptyHasNothing,
		"records come back in order":            comeBackInOrder,
		"replay goes on behind a position":      replayGoesOn,
		"an error of apply ends the replay":     applyEndsReplay,
		"a second writer is refused":            secondWriterIsRefused,
		"the same append again is stored once":  sameAppendAgain,
		"a page replaces its predecessor":       pageReplaces,
		"purge leaves pages and newest commit":  purgeLeaves,
		"purge removes the pages that it names": purgeRemovesPages,
		"positions go on after a purge":         positionsGoOn,
		"a large record fits":                   largeRecordFits,
		"replay runs beside appends and purges": replayRunsBeside,
	} {
		t.Run(name, func(t *testing.T) { run(t, check) })
	}
}

// Commit returns a record of that number, by a writer of that incarnation.
func Commit(number, incarnation uint64) *journal.Record {
	return &journal.Record{Format: journal.Format, Body: &journal.Record_Commit{Commit: &journal.Commit{
		Epoch: 1, Number: number, Writer: &journal.Writer{Node: "n", Incarnation: incarnation},
	}}}
}

// Page returns a page without entries that was written behind commit number.
func Page(prefix, depth uint32, number uint64) *journal.Record {
	return &journal.Record{Format: journal.Format, Body: &journal.Record_Page{Page: &journal.Page{
		Prefix: prefix, Depth: depth, Number: number, Epoch: 1,
	}}}
}

func emptyHasNothing(t *testing.T, j Journal) {
	wantRecords(t, j, 0, 0)
}

func comeBackInOrder(t *testing.T, j Journal) {
	a, b, c := Commit(1, 1), Page(0, 0, 1), Commit(2, 1)
	mustAppend(t, j, 0, a, b, c)
	wantRecords(t, j, 0, 3, a, b, c)
}

func replayGoesOn(t *testing.T, j Journal) {
	a, b := Commit(1, 1), Commit(2, 1)
	mustAppend(t, j, 0, a, b)
	wantRecords(t, j, 1, 2, b)
	wantRecords(t, j, 2, 2)
}

func applyEndsReplay(t *testing.T, j Journal) {
	mustAppend(t, j, 0, Commit(1, 1), Commit(2, 1))
	enough, calls := errors.New("enough"), 0
	_, err := j.Replay(t.Context(), 0, func(uint64, *journal.Record) error {
		calls++
		return enough
	})
	if !errors.Is(err, enough) || calls != 1 {
		t.Errorf("replay called apply %d times and returned %v", calls, err)
	}
}

func secondWriterIsRefused(t *testing.T, j Journal) {
	a, b := Commit(1, 1), Commit(2, 1)
	mustAppend(t, j, 0, a, b)
	for after := range uint64(2) {
		if err := j.Append(t.Context(), after, Commit(after+1, 2)); !errors.Is(err, journal.ErrConflict) {
			t.Errorf("append behind %d: %v, want a conflict", after, err)
		}
	}
	wantRecords(t, j, 0, 2, a, b)
}

// sameAppendAgain: a writer that does not know how its append has ended may append the same again. The
// result is that it is stored, or that its place is taken, and it is there once.
func sameAppendAgain(t *testing.T, j Journal) {
	a := Commit(1, 1)
	mustAppend(t, j, 0, a)
	if err := j.Append(t.Context(), 0, a); err != nil && !errors.Is(err, journal.ErrConflict) {
		t.Error(err)
	}
	wantRecords(t, j, 0, 1, a)
}

func pageReplaces(t *testing.T, j Journal) {
	a, old, other, b, young := Commit(1, 1), Page(0, 1, 1), Page(1, 1, 1), Commit(2, 1), Page(0, 1, 2)
	mustAppend(t, j, 0, a, old, other, b, young)
	wantRecords(t, j, 0, 5, a, other, b, young)
}

func purgeLeaves(t *testing.T, j Journal) {
	a, page, b, c := Commit(1, 1), Page(0, 0, 1), Commit(2, 1), Commit(3, 1)
	mustAppend(t, j, 0, a, page, b, c)
	mustPurge(t, j, 3)
	wantRecords(t, j, 0, 4, page, c)
	mustPurge(t, j, 4)
	wantRecords(t, j, 0, 4, page, c)
}

func purgeRemovesPages(t *testing.T, j Journal) {
	a, root, left, right := Commit(1, 1), Page(0, 0, 1), Page(0, 1, 1), Page(1, 1, 1)
	mustAppend(t, j, 0, a, root, left, right)
	mustPurge(t, j, 0, "p", "p0110")
	wantRecords(t, j, 0, 4, a, left, right)
}

func positionsGoOn(t *testing.T, j Journal) {
	mustAppend(t, j, 0, Commit(1, 1), Commit(2, 1))
	mustPurge(t, j, 2)
	c := Commit(3, 1)
	mustAppend(t, j, 2, c)
	wantRecords(t, j, 2, 3, c)
}

func replayRunsBeside(t *testing.T, j Journal) {
	const commits = 200
	written := make(chan error, 1)
	go func() {
		var err error
		for n := uint64(1); n <= commits && err == nil; n++ {
			if err = j.Append(context.WithoutCancel(t.Context()), n-1, Commit(n, 1)); err == nil && n%50 == 0 {
				err = j.Purge(context.WithoutCancel(t.Context()), n/2, nil)
			}
		}
		written <- err
	}()
	for last := uint64(0); last < commits; {
		from := last
		end, err := j.Replay(t.Context(), last, func(position uint64, r *journal.Record) error {
			if position <= last || r.GetCommit().GetNumber() != position {
				return fmt.Errorf("%s at %d, behind %d", r.Describe(), position, last)
			}
			last = position
			return nil
		})
		if err != nil {
			t.Error(err)
			break
		}
		if end < from {
			t.Errorf("the end went back from %d to %d", from, end)
			break
		}
		select {
		case err := <-written:
			if written <- err; err != nil {
				t.Fatal(err)
			}
		default:
		}
	}
	if err := <-written; err != nil {
		t.Fatal(err)
	}
}

func largeRecordFits(t *testing.T, j Journal) {
	r := Commit(1, 1)
	for i := range 2000 {
		r.GetCommit().Changes = append(r.GetCommit().Changes, &journal.Change{
			Kind:  messages.Event_ACQUIRED,
			Grant: &journal.Grant{Resource: fmt.Sprintf("%0200d", i), Owner: "somebody", Token: 1, TtlMs: 1000},
		})
	}
	mustAppend(t, j, 0, r)
	wantRecords(t, j, 0, 1, r)
}

func mustAppend(t *testing.T, j Journal, after uint64, records ...*journal.Record) {
	t.Helper()
	for i, r := range records {
		if err := j.Append(t.Context(), after+uint64(i), r); err != nil {
			t.Fatalf("append %s behind %d: %v", r.Describe(), after+uint64(i), err)
		}
	}
}

func mustPurge(t *testing.T, j Journal, through uint64, pages ...string) {
	t.Helper()
	if err := j.Purge(t.Context(), through, pages); err != nil {
		t.Fatalf("purge through %d, pages %v: %v", through, pages, err)
	}
}

func wantRecords(t *testing.T, j Journal, after, wantLast uint64, want ...*journal.Record) {
	t.Helper()
	var got []*journal.Record
	position := after
	last, err := j.Replay(t.Context(), after, func(p uint64, r *journal.Record) error {
		if p <= position {
			t.Errorf("position %d comes behind %d", p, position)
		}
		position = p
		got = append(got, r)
		return nil
	})
	if err != nil || last != wantLast {
		t.Fatalf("replay ended at %d (%v), want %d", last, err, wantLast)
	}
	if len(got) != len(want) {
		t.Fatalf("replay gave %d records, want %d", len(got), len(want))
	}
	for i := range want {
		if !proto.Equal(got[i], want[i]) {
			t.Errorf("record %d is %s, want %s", i, got[i].Describe(), want[i].Describe())
		}
	}
}
