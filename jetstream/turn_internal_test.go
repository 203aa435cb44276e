package jetstream

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/holdfast-io/holdfast/messages/journal"
)

// An append that finds a change of the leader under way does not begin before its end.
func TestAppendTakesTurns(t *testing.T) {
	changing := newTurn()
	if err := changing.take(t.Context()); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	b := newBucket(nil, nil, nil, "HOLDFAST_0", changing) // without a connection: to send would panic
	r := &journal.Record{Format: journal.Format, Body: &journal.Record_Commit{Commit: &journal.Commit{Epoch: 1, Number: 1}}}
	if err := b.Append(ctx, 0, r); !errors.Is(err, journal.ErrNotStored) {
		t.Errorf("got %v", err)
	}
	if err := changing.take(ctx); err == nil {
		t.Error("the turn was taken twice")
	}
	changing.pass()
	if err := changing.take(t.Context()); err != nil {
		t.Error(err)
	}
}
