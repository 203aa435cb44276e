package watch_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/holdfast-io/holdfast/clients/holdfast"
	"github.com/holdfast-io/holdfast/integration/linear"
	"github.com/holdfast-io/holdfast/integration/stand"
	"github.com/holdfast-io/holdfast/messages"
	"github.com/holdfast-io/holdfast/messages/journal"
)

// finished reads and checks the journals of a server when nothing is added to them any more: no lease is held, no delay
// runs, and nothing rests.
func finished(t *testing.T, url string) (j *linear.Journal) {
	t.Helper()
	nc := stand.Dial(t, url)
	stand.Eventually(t, "no lease is held, no delay runs, and nothing rests", func() bool {
		var err error
		if j, err = linear.ReadJournal(t.Context(), nc, messages.DefaultPrefix); err != nil {
			t.Fatal(err)
		}
		wrong, held, lost := j.Audit(0)
		if len(wrong) > 0 {
			t.Fatal(wrong)
		}
		return len(held) == 0 && !anyDelayed(lost) && !j.Rests()
	})
	return j
}

// anyDelayed reports whether any of the lost leases holds its resource back for a delay. What has to be confirmed stays
// as it is.
func anyDelayed(lost map[string][]*journal.Grant) bool {
	for _, grants := range lost {
		if slices.ContainsFunc(grants, func(g *journal.Grant) bool { return g.GetDelayMs() > 0 }) {
			return true
		}
	}
	return false
}

// record returns an empty record of a watch.
func record(t *testing.T, name, pattern string, kinds ...holdfast.EventKind) *linear.Events {
	t.Helper()
	return stand.Value(linear.NewEvents(name, pattern, kinds...))(t)
}

// await waits until all of the journals has come.
func await(t *testing.T, j *linear.Journal, all ...*linear.Events) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), bound)
	defer cancel()
	for _, e := range all {
		stand.Must(t, e.Await(ctx, j))
	}
}

// wantSame fails the test if a record differs from the journals.
func wantSame(t *testing.T, j *linear.Journal, all ...*linear.Events) {
	t.Helper()
	for _, e := range all {
		if err := e.Same(j); err != nil {
			t.Error(err)
		}
		if e.Count() == 0 {
			t.Error("nothing came")
		}
	}
}

// moreEvents waits until more events have come.
func moreEvents(t *testing.T, e *linear.Events, n int) {
	t.Helper()
	want := e.Count() + n
	stand.Eventually(t, "more events have come", func() bool { return e.Count() >= want || t.Failed() })
}

// bound is how long anything may take on a busy machine.
const bound = 2 * time.Minute
