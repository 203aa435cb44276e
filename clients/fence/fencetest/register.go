package fencetest

import (
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/holdfast-io/holdfast/clients/fence"
)

// register is a Register with a resource of its own.
type register struct {
	testing.TB
	Register
	resource string
}

func begin(tb testing.TB, s Subject, rule fence.Rule) *register {
	tb.Helper()
	return &register{TB: tb, Register: s.Open(tb, rule), resource: resource()}
}

var (
	startNano = time.Now().UnixNano()
	ordinal   atomic.Uint64
)

// resource returns a name that no other test has used, also in an earlier run on the same store.
func resource() string {
	return fmt.Sprintf("fencetest.%x.%d", startNano, ordinal.Add(1))
}

func (r *register) claim(token fence.Token) fence.Claim {
	return fence.Claim{Resource: r.resource, Token: token}
}

func (r *register) accepts(token fence.Token, value string) {
	r.Helper()
	if err := r.Write(r.Context(), r.claim(token), value); err != nil {
		r.Fatalf("%q, token %d: %v", r.resource, token, err)
	}
}

// refuses checks that the token is refused because of the highest one, and nothing is written; with
// equal tokens it is refused as spent, and only then.
func (r *register) refuses(token, highest fence.Token) {
	r.Helper()
	before, err := r.Read(r.Context(), r.resource)
	if err != nil {
		r.Fatal(err)
	}
	refusal := r.Write(r.Context(), r.claim(token), "of a stale holder")
	wantStale(r.TB, refusal, token, highest)
	if errors.Is(refusal, fence.ErrSpent) != (token == highest) {
		r.Errorf("token %d after %d: %v, which takes it wrongly for spent, or not", token, highest, refusal)
	}
	r.reads(before)
}

func (r *register) reads(want string) {
	r.Helper()
	got, err := r.Read(r.Context(), r.resource)
	if err != nil {
		r.Fatal(err)
	}
	if got != want {
		r.Errorf("%q is %q, want %q", r.resource, got, want)
	}
}

func wantStale(tb testing.TB, err error, token, highest fence.Token) {
	tb.Helper()
	var stale *fence.StaleError
	if !errors.Is(err, fence.ErrStale) || !errors.As(err, &stale) {
		tb.Fatalf("token %d after %d: %v, want a StaleError", token, highest, err)
	}
	if stale.Token != token || stale.Highest != highest {
		tb.Errorf("the error says %d after %d, want %d after %d", stale.Token, stale.Highest, token, highest)
	}
}
