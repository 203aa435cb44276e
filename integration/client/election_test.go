package client_test

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"iter"
	"sync"
	"testing"

	"github.com/holdfast-io/holdfast/clients/holdfast"
)

// mustCampaign returns the term of a client that leads.
func mustCampaign(tb testing.TB, c *holdfast.Client, name, value string,
	opts ...holdfast.AcquireOption) *holdfast.Leadership {
	tb.Helper()
	term, err := c.Campaign(testContext(tb), name, value, opts...)
	if err != nil {
		tb.Fatal(err)
	}
	return term
}

// observation is what an observer receives.
type observation struct {
	testing.TB
	election string
	next     func() (holdfast.Leader, error, bool)
}

func observe(tb testing.TB, c *holdfast.Client, name string) observation {
	tb.Helper()
	next, stop := iter.Pull2(c.Observe(testContext(tb), name))
	tb.Cleanup(stop)
	return observation{tb, name, next}
}

// want checks the next leader: its owner, its token and its value; "": nobody.
func (o observation) want(said string) {
	o.Helper()
	l, err, ok := o.next()
	if err != nil || !ok {
		o.Fatalf("got %v, %v, %t", l, err, ok)
	}
	got := ""
	if l.Leads() {
		got = fmt.Sprint(l.Owner, " ", uint64(l.Token), " ", l.Value)
	}
	if got != said || l.Name != o.election {
		o.Fatalf("got %q of %q, want %q", got, l.Name, said)
	}
}

// One candidate leads after the other, and an observer receives all of it in its order.
func TestElection(t *testing.T) {
	c, other := newClient(t, url), newClient(t, url)
	early := observe(t, c, t.Name())
	early.want("")
	first := mustCampaign(t, c, t.Name(), "one", holdfast.Owner("a"), long,
		holdfast.Metadata(map[string]string{"rack": "7"}))
	early.want("a 1 one")
	second := make(chan *holdfast.Leadership, 1)
	go func() {
		term, err := other.Campaign(testContext(t), t.Name(), "other", holdfast.Owner("b"), long)
		if err != nil {
			t.Error(err)
		}
		second <- term
	}()
	waitingFor(t, c, t.Name(), 1)
	for _, value := range []string{"two", "", "three"} {
		if err := first.Proclaim(testContext(t), value); err != nil {
			t.Fatal(err)
		}
		if first.Value() != value {
			t.Errorf("the value is %q, want %q", first.Value(), value)
		}
		early.want("a 1 " + value)
	}
	late := observe(t, other, t.Name())
	late.want("a 1 three")
	if l, err := other.Leader(testContext(t), t.Name()); err != nil || l.Owner != "a" || l.Value != "three" || l.Metadata["rack"] != "7" {
		t.Errorf("the leader is %+v, %v", l, err)
	}
	if err := first.Resign(testContext(t)); err != nil {
		t.Fatal(err)
	}
	if !errors.Is(context.Cause(first.Context()), holdfast.ErrReleased) || first.Valid() {
		t.Error("the term goes on")
	}
	if err := first.Proclaim(testContext(t), "four"); !errors.Is(err, holdfast.ErrReleased) {
		t.Errorf("after the end of the term: %v", err)
	}
	next := <-second
	for _, o := range []observation{early, late} {
		o.want("")
		o.want("b 2 other")
	}
	if err := c.Break(testContext(t), t.Name(), next.Token(), "the test says so"); err != nil {
		t.Fatal(err)
	}
	await(t, "the term ends", next.Context().Done())
	early.want("")
	if l, err := c.Leader(testContext(t), t.Name()); err != nil || l.Leads() || l.Name != t.Name() {
		t.Errorf("the leader is %v, %v", l, err)
	}
}

// waitingFor waits until so many requests wait.
func waitingFor(t *testing.T, c *holdfast.Client, name string, n int) {
	t.Helper()
	for s := mustGet(t, c, name); s.Waiting != n; s = mustGet(t, c, name) {
		if t.Context().Err() != nil {
			t.Fatal("they do not wait")
		}
	}
}

// Leaders come and go while an observer looks on. It receives each, with tokens that grow, and of each value.
func TestObserveIsGapless(t *testing.T) {
	c, name := newClient(t, url), t.Name()+rand.Text() // new also when the test runs again
	o := observe(t, newClient(t, url), name)
	o.want("")
	const terms = 50
	var leading sync.WaitGroup
	defer leading.Wait()
	leading.Go(func() {
		for i := range terms {
			term, err := c.Campaign(t.Context(), name, fmt.Sprint("first ", i), holdfast.Owner("a"), long)
			if err == nil {
				err = term.Proclaim(t.Context(), fmt.Sprint("then ", i))
			}
			if err == nil {
				err = term.Resign(t.Context())
			}
			if err != nil {
				t.Error(err)
				return
			}
		}
	})
	for i := range terms {
		o.want(fmt.Sprintf("a %d first %d", i+1, i))
		o.want(fmt.Sprintf("a %d then %d", i+1, i))
		o.want("")
	}
}
