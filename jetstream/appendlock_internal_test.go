package jetstream

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/holdfast-io/holdfast/messages/journal"
)

// An append waits for the end of a change of leader.
func TestAppendWaitsForLeaderChange(t *testing.T) {
	changing := newAppendLock()
	if err := changing.lock(t.Context()); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	b := newBucket(nil, nil, "HOLDFAST_0", changing) // without a connection: to send would panic
	r := &journal.Record{Format: journal.Format, Body: &journal.Record_Commit{
		Commit: &journal.Commit{Epoch: 1, Number: 1}}}
	if err := b.Append(ctx, 0, r); !errors.Is(err, journal.ErrNotStored) {
		t.Errorf("got %v", err)
	}
	if err := changing.lock(ctx); err == nil {
		t.Error("the lock was taken twice")
	}
	changing.unlock()
	if err := changing.lock(t.Context()); err != nil {
		t.Error(err)
	}
}
