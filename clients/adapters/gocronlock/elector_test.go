package gocronlock_test

import (
	"context"
	"errors"
	"runtime"
	"testing"

	"github.com/holdfast-io/holdfast/clients/adapters/gocronlock"
	"github.com/holdfast-io/holdfast/clients/adapters/internal/adaptertest"
	"github.com/holdfast-io/holdfast/clients/holdfast"
)

// One candidate leads at a time. The next one does when the leader closes, and when its lease is broken.
func TestElector(t *testing.T) {
	t.Parallel()
	node := adaptertest.Node(t)
	observer := adaptertest.NewClient(t, node)
	electors := map[string]*gocronlock.Elector{}
	for _, name := range []string{"ann", "bob"} {
		c := adaptertest.NewClient(t, node, holdfast.Defaults(holdfast.Owner(name)))
		electors[name] = gocronlock.NewElector(c, "scheduler")
		t.Cleanup(func() { _ = electors[name].Close(t.Context()) })
	}
	leads := func(not holdfast.Token) holdfast.Leader {
		for l, err := range observer.Observe(t.Context(), "scheduler") {
			if err != nil {
				t.Fatal(err)
			}
			if l.Leads() && l.Token != not {
				return l
			}
		}
		return holdfast.Leader{}
	}
	first := leads(0)
	if err := observer.Break(t.Context(), "scheduler", first.Token, "a test"); err != nil {
		t.Fatal(err)
	}
	second := leads(first.Token)
	if second.Owner == first.Owner {
		t.Fatalf("%v leads again, although another one waited", second)
	}
	if err := electors[second.Owner].Close(t.Context()); err != nil {
		t.Error(err)
	}
	third := leads(second.Token)
	if third.Owner != first.Owner {
		t.Errorf("%v leads after %v has closed", third, second)
	}
	if err := electors[second.Owner].IsLeader(t.Context()); !errors.Is(err, gocronlock.ErrNotLeader) {
		t.Errorf("one that has closed: %v, want ErrNotLeader", err)
	}
}

// The jobs of a leader whose lease is broken have to end, and no more begin.
func TestLostLeadership(t *testing.T) {
	t.Parallel()
	node := adaptertest.Node(t)
	observer := adaptertest.NewClient(t, node)
	c := adaptertest.NewClient(t, node, holdfast.Defaults(holdfast.Owner("ann")))
	e := gocronlock.NewElector(c, "scheduler")
	var leader holdfast.Leader
	for l, err := range observer.Observe(t.Context(), "scheduler") {
		if err != nil {
			t.Fatal(err)
		}
		if leader = l; l.Leads() {
			break
		}
	}
	for e.IsLeader(t.Context()) != nil { // the service knows it before the client
		runtime.Gosched()
	}
	job, cancel := e.Context(t.Context())
	defer cancel()
	if claim, ok := holdfast.ClaimFromContext(job); !ok || claim.Token != leader.Token {
		t.Errorf("the job has %v, want the token %v", claim, leader.Token)
	}
	if err := observer.Break(t.Context(), "scheduler", leader.Token, "a test"); err != nil {
		t.Fatal(err)
	}
	<-job.Done()
	if cause := context.Cause(job); !errors.Is(cause, holdfast.ErrLost) {
		t.Errorf("the job ends with %v, want ErrLost", cause)
	}
	if err := e.Close(t.Context()); err != nil {
		t.Error(err)
	}
	over, cancel := e.Context(t.Context())
	defer cancel()
	if over.Err() == nil {
		t.Error("a job begins behind the end")
	}
}
