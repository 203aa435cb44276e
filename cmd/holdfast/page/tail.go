package page

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/holdfast-io/holdfast/clients/holdfast"
)

// arrival is an event of a watch, or its error.
type arrival struct {
	event holdfast.Event
	err   error
}

// tail watches from a position on. It belongs to one goroutine.
type tail struct {
	client *holdfast.Client
	selection
	// at is how far it has come; zero: it begins with what is new.
	at holdfast.Position
	// gap is why changes are missing before the next one; empty: none are.
	gap string

	// failure is why the journals could not be read when they were last asked; nil: they could.
	failure error
	// until is when it watches again, and begun when the present watch began; it took so long until that stood.
	until, begun time.Time
	took         time.Duration
	arrivals     chan arrival // nil while it does not watch
	stop         context.CancelFunc
	watching     sync.WaitGroup
}

// watch returns what brings the changes, and starts it if needed. It is nil while the tail rests.
func (t *tail) watch(ctx context.Context) <-chan arrival {
	if t.arrivals != nil || time.Now().Before(t.until) {
		return t.arrivals
	}
	t.begun, t.took = time.Now(), 0
	ctx, t.stop = context.WithCancel(ctx)
	arrivals, from := make(chan arrival), t.at
	t.arrivals = arrivals
	t.watching.Go(func() {
		for e, err := range t.selection.watch(ctx, t.client, holdfast.From(from), shownKinds,
			holdfast.Bookmarks(batchEvery)) {
			select {
			case arrivals <- arrival{e, err}:
			case <-ctx.Done():
				return
			}
		}
	})
	return arrivals
}

// leave ends the watch. It may be called twice.
func (t *tail) leave() {
	if t.arrivals != nil {
		t.stop()
		t.watching.Wait()
		t.arrivals = nil
	}
}

// rest leaves the watch for a while. Beginning one asks each shard, so it takes at most a twentieth of the time.
func (t *tail) rest() {
	t.leave()
	t.until = time.Now().Add(pauseAfter(t.took, batchEvery))
}

// check returns why the journals cannot be read at present, which a watch under way does not report. A watch that has
// failed must stand again.
func (t *tail) check(ctx context.Context) error {
	if t.failure == nil || t.took > 0 {
		ctx, cancel := context.WithTimeout(ctx, answerTimeout)
		defer cancel()
		_, t.failure = t.now(ctx, t.client)
	}
	return t.failure
}

// skip has the next watch begin with what is new. gap is why.
func (t *tail) skip(gap string) {
	t.at, t.gap = holdfast.Position{}, gap
}

// take returns the change that arrived, nil if it is none, and why changes before it are missing. After a skip that is
// known when the watch stands, with its first bookmark.
func (t *tail) take(a arrival) (c *change, gap string) {
	if t.took == 0 && a.err == nil {
		t.took = time.Since(t.begun)
	}
	switch {
	case errors.Is(a.err, holdfast.ErrCompacted):
		t.rest()
		t.skip("The journals no longer have what came here.")
		return nil, ""
	case a.err != nil:
		t.rest()
		t.failure = a.err
		return nil, ""
	}
	t.at = a.event.Position()
	if a.event.Kind == holdfast.EventBookmark {
		gap, t.gap = t.gap, ""
		return nil, gap
	}
	shown := t.changeOf(a.event)
	return &shown, ""
}
