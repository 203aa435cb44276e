package watch_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/holdfast-io/holdfast/clients/holdfast"
	"github.com/holdfast-io/holdfast/messages"
)

// bound is how long anything may take on a busy machine.
const bound = 2 * time.Minute

// fact is what an event says, as far as the journal says it too.
type fact struct {
	id       messages.EventID
	kind     string
	resource string
	owner    string
	token    holdfast.Token
	at       int64
	reason   string
}

func (f fact) String() string {
	return fmt.Sprintf("%v %s %q by %q, token %d", f.id, f.kind, f.resource, f.owner, f.token)
}

func factOf(e holdfast.Event) fact {
	return fact{e.ID, e.Kind.String(), e.Lease.Resource, e.Lease.Owner, e.Lease.Token, e.Time.UnixMilli(), e.Reason}
}

func factIn(e *messages.Event) fact {
	l := e.GetLease()
	return fact{e.ID(), e.GetKind().String(), l.GetResource(), l.GetOwner(), holdfast.Token(l.GetToken()), e.GetAtMs(), e.GetReason()}
}

// recorder keeps what was told, in its order for each shard.
type recorder struct {
	mu     sync.Mutex
	shards map[uint32][]fact
	count  int
}

func (r *recorder) add(f fact) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.shards == nil {
		r.shards = make(map[uint32][]fact)
	}
	r.shards[f.id.Shard] = append(r.shards[f.id.Shard], f)
	r.count++
}

func (r *recorder) len() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.count
}

// wantSame fails the test at the first difference to what the journals have.
func (r *recorder) wantSame(t *testing.T, who string, journals *recorder) {
	t.Helper()
	r.mu.Lock()
	defer r.mu.Unlock()
	for shard, want := range journals.shards {
		got := r.shards[shard]
		for i := range min(len(got), len(want)) {
			if got[i] != want[i] {
				t.Fatalf("%s: event %d of shard %d is %v, the journal has %v", who, i, shard, got[i], want[i])
			}
		}
		if len(got) != len(want) {
			t.Fatalf("%s: %d events of shard %d, the journal has %d", who, len(got), shard, len(want))
		}
	}
	if r.count != journals.count {
		t.Fatalf("%s: %d events, the journals have %d", who, r.count, journals.count)
	}
}

// only returns what a pattern selects.
func (r *recorder) only(t *testing.T, pattern string) *recorder {
	t.Helper()
	p, err := messages.ParsePattern(pattern)
	if err != nil {
		t.Fatal(err)
	}
	some := &recorder{}
	for _, facts := range r.shards {
		for _, f := range facts {
			if key, err := messages.EncodeKey(f.resource); err != nil || p.Matches(key) {
				some.add(f)
			}
		}
	}
	return some
}

// checkLives fails the test unless each resource has lived as a lock does: a lease begins when the one
// before has ended, under a higher token, and goes on under the same. It returns how many are held.
func (r *recorder) checkLives(t *testing.T) (held int) {
	t.Helper()
	type life struct {
		token holdfast.Token
		held  bool
	}
	lives := map[string]life{}
	for _, facts := range r.shards {
		for _, f := range facts {
			was := lives[f.resource]
			begins := f.kind == "ACQUIRED"
			if begins == was.held || begins && f.token <= was.token || !begins && f.token != was.token {
				t.Fatalf("%v where token %d was held: %v", f, was.token, was.held)
			}
			lives[f.resource] = life{f.token, begins || f.kind == "EXTENDED"}
		}
	}
	for _, l := range lives {
		if l.held {
			held++
		}
	}
	return held
}

// table is who holds what, kept by the events of a watch that began with the present holders.
type table struct {
	mu   sync.Mutex
	held map[string]holdfast.Token
	// whole: all present holders have been told.
	whole bool
}

// begin forgets all, since the present holders will be told.
func (b *table) begin() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.held, b.whole = make(map[string]holdfast.Token), false
}

// take applies an event, which must be one that is possible there: that is how a gap or a change told
// twice would be noticed.
func (b *table) take(e holdfast.Event) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	l := e.Lease
	switch had, held := b.held[l.Resource]; {
	case e.Kind == holdfast.EventBookmark:
		b.whole = true
	case e.Kind == holdfast.EventPresent || e.Kind == holdfast.EventAcquired:
		if held {
			return fmt.Errorf("%v where token %v is held", e, had)
		}
		b.held[l.Resource] = l.Token
	case !held || had != l.Token:
		return fmt.Errorf("%v where token %v is held: %v", e, had, held)
	case e.Kind.Ends():
		delete(b.held, l.Resource)
	}
	return nil
}

func (b *table) empty() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.whole && len(b.held) == 0
}

// told runs a watch until its context ends, which is the only error that it may end with.
func told(ctx context.Context, c *holdfast.Client, pattern string, take func(holdfast.Event) error, opts ...holdfast.WatchOption) error {
	for e, err := range c.Watch(ctx, pattern, opts...) {
		if err == nil {
			err = take(e)
		}
		if err != nil && !errors.Is(err, context.Canceled) {
			return err
		}
	}
	return nil
}

// eventually fails the test unless it becomes so.
func eventually(t *testing.T, what func() string, is func() bool) {
	t.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for end := time.Now().Add(bound); !is(); <-tick.C {
		if time.Now().After(end) {
			t.Fatalf("not within %v: %s", bound, what())
		}
	}
}

func contains(kinds []string, f fact) bool { return slices.Contains(kinds, f.kind) }
