package actors_test

import (
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/holdfast-io/holdfast/actors"
	"github.com/holdfast-io/holdfast/actors/lease"
	"github.com/holdfast-io/holdfast/messages"
	"github.com/holdfast-io/holdfast/messages/journal"
)

// observed keeps what an observer receives.
type observed struct {
	mu      sync.Mutex
	said    []string
	commits int
}

func (o *observed) say(format string, args ...any) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.said = append(o.said, fmt.Sprintf(format, args...))
}

// take returns what was said since, but for commits.
func (o *observed) take() []string {
	o.mu.Lock()
	defer o.mu.Unlock()
	said := o.said
	o.said = nil
	return said
}

func (o *observed) Committed(_ uint32, took time.Duration, changes int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.commits++; took > 0 {
		o.said = append(o.said, fmt.Sprintf("%d changes in %v", changes, took))
	}
}
func (o *observed) Conflicted(shard uint32)                                { o.say("conflict in %d", shard) }
func (o *observed) Ended(why actors.Ending, held time.Duration)            { o.say("%v after %v", why, held) }
func (o *observed) Returned()                                              { o.say("returned") }
func (o *observed) Compacted(time.Duration)                                { o.say("compacted") }
func (o *observed) Opened(_ uint32, from actors.Takeover, _ time.Duration) { o.say("opened, %v", from) }

// An observer receives each commit, each end of a lease with its reason and its length, and each opening.
func TestObserver(t *testing.T) {
	inClosedWorld(t, actors.Tuning{CompactCommits: 20}, func(w *world) {
		o := &observed{}
		w.observer = o
		want := func(what string, want ...string) {
			w.Helper()
			if got := o.take(); !slices.Equal(got, want) {
				w.Errorf("%s: %q, want %q", what, got, want)
			}
		}
		w.open()
		want("an empty journal", "opened, new")
		grant := func() {
			w.Helper()
			w.want(messages.Status_GRANTED, 0, "r", acquire("a", 5*time.Second))
			w.pass(2 * time.Second)
		}
		grant()
		w.want(messages.Status_RELEASED, 0, "r", release("a"))
		want("a release", "released after 2s")
		grant()
		token := w.ask("r", get()).GetLease().GetToken()
		w.want(messages.Status_RELEASED, 0, "r", lease.Break{Request: &messages.BreakRequest{Token: token}})
		want("a break", "broken after 2s")
		grant()
		w.pass(4 * time.Second)
		want("an expiry", "expired after 5s")

		w.want(messages.Status_GRANTED, 0, "r", acquire("a", time.Minute))
		w.send("r", waiting(time.Minute, time.Hour))
		w.want(messages.Status_RELEASED, 0, "r", release("a"))
		o.take()
		w.shard.Undeliverable("r", messages.Token(token+3))
		w.pass(0)
		want("a grant that reached no client", "released after 0s", "returned")

		letGo := w.hold()
		w.send("r", acquire("a", time.Minute))
		w.pass(3 * time.Second)
		letGo(nil)
		w.pass(0)
		want("a slow commit", "1 changes in 3s")
		letGo = w.hold()
		w.send("r", get())
		letGo(journal.ErrConflict)
		w.pass(2 * time.Second)
		want("a rival", "conflict in 3", "opened, restarted")
		for range 20 {
			w.want(messages.Status_FREE, 0, "other", get())
		}
		want("many commits", "compacted")
		if o.commits < 30 {
			w.Errorf("%d commits", o.commits)
		}
	})
}
