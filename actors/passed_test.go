package actors_test

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/holdfast-io/holdfast/actors"
	"github.com/holdfast-io/holdfast/actors/lease"
)

// passed keeps what a shard has passed on.
type passed struct {
	mu       sync.Mutex
	requests []*actors.Request
}

func (p *passed) add(r *actors.Request) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.requests = append(p.requests, r)
}

func (p *passed) all() []*actors.Request {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.requests)
}

// inboxes says where the answers to all that was passed are to go, of one resource or, if it is
// empty, of all.
func (p *passed) inboxes(resource string) (inboxes []string) {
	for _, r := range p.all() {
		if resource == "" || r.Resource == resource {
			inboxes = append(inboxes, inboxOf(r))
		}
	}
	return inboxes
}

func inboxOf(r *actors.Request) string {
	switch e := r.Event.(type) {
	case lease.Acquire:
		return e.From.Subject
	case lease.Release:
		return e.From.Subject
	case lease.Extend:
		return e.From.Subject
	case lease.Get:
		return e.From.Subject
	case lease.Break:
		return e.From.Subject
	case lease.Keep:
		return e.From.Subject
	case lease.EndSession:
		return e.From.Subject
	default:
		return fmt.Sprintf("nowhere: %T", e)
	}
}

// inPassingWorld runs test with a shard that is open and passes on what it leaves undecided.
func inPassingWorld(t *testing.T, tuning actors.Tuning, test func(w *world)) {
	t.Helper()
	inClosedWorld(t, tuning, func(w *world) {
		w.passed = &passed{}
		w.open()
		test(w)
	})
}

// successor is another node on the same journal, with an actor system of its own and the same clients.
// Its shard is not open.
func (w *world) successor() *world {
	next := *w
	next.journal, next.passed, next.log = w.journal.Rival(), &passed{}, new(log)
	next.system, next.shard = nil, nil
	next.asked += 1_000_000
	return &next
}

// takeOver sends on to this node what another one has passed.
func (w *world) takeOver(p *passed) {
	w.Helper()
	for _, r := range p.all() {
		if a, ok := r.Event.(lease.Acquire); ok {
			a.MaxWaiting = 100
			r = &actors.Request{Resource: r.Resource, Event: a}
		}
		_, err := w.shard.SendAll([]actors.Request{*r})
		must(w.T, err)
	}
	synctest.Wait()
}

func (w *world) handOver() {
	w.Helper()
	must(w.T, w.shard.HandOver(w.Context()))
	w.wantEnded()
}

// wantEnded checks that nothing goes in any more.
func (w *world) wantEnded() {
	w.Helper()
	synctest.Wait()
	if s := w.shard.State(); s != actors.Ended {
		w.Errorf("the shard is %v", s)
	}
	_, err := w.shard.SendAll([]actors.Request{{Resource: "r", Event: get()}})
	if !errors.Is(err, actors.ErrEnded) || !errors.Is(err, actors.ErrUnavailable) {
		w.Errorf("it took a request: %v", err)
	}
	if _, err := w.shard.List(w.Context(), actors.Listing{Limit: 1}); !errors.Is(err, actors.ErrUnavailable) {
		w.Errorf("it lists: %v", err)
	}
}

// wantPassed checks what was passed, in any order.
func (w *world) wantPassed(inboxes ...string) {
	w.Helper()
	synctest.Wait()
	got := w.passed.inboxes("")
	slices.Sort(got)
	slices.Sort(inboxes)
	if !slices.Equal(got, inboxes) {
		w.Errorf("passed %v, want %v", got, inboxes)
	}
}
