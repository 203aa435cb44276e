package fencetest

import (
	"errors"
	"slices"
	"sync"
	"testing"

	"github.com/holdfast-io/holdfast/clients/fence"
)

// observer checks that the observer of a guard receives each claim that the guard has let pass or refused, once, and no
// other.
func observer(t *testing.T, s Subject) {
	t.Helper()
	if s.Observed == nil {
		t.Skip("this guard has no observer")
	}
	var mu sync.Mutex
	var seen []fence.Verdict
	r := &register{TB: t, resource: resource(), Register: s.Observed(t, func(v fence.Verdict) {
		mu.Lock()
		defer mu.Unlock()
		seen = append(seen, v)
	})}
	r.accepts(3, "first")
	r.accepts(5, "second")
	r.refuses(4, 5)
	if err := r.Write(t.Context(), r.claim(0), "invalid"); !errors.Is(err, fence.ErrInvalid) {
		t.Errorf("no token: %v", err)
	}
	r.accepts(5, "third")
	mu.Lock()
	defer mu.Unlock()
	if len(seen) == 0 || seen[0].Guard == "" {
		t.Fatalf("the observer received %v", seen)
	}
	var want []fence.Verdict
	for _, step := range []struct {
		token  fence.Token
		result fence.Result
	}{{3, fence.Passed}, {5, fence.Passed}, {4, fence.Stale}, {5, fence.Passed}} {
		want = append(want, fence.Verdict{Guard: seen[0].Guard, Claim: r.claim(step.token), Result: step.result})
	}
	if !slices.Equal(seen, want) {
		t.Errorf("the observer received\n%v, want\n%v", seen, want)
	}
}
