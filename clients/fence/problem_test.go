package fence_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/holdfast-io/holdfast/clients/fence"
)

func TestProblem(t *testing.T) {
	c := fence.Claim{Resource: "orders.42", Token: 33}
	for name, test := range map[string]struct {
		err    error
		status int
		kinds  []error
	}{
		"stale":   {fence.Refused(c, 34), 409, []error{fence.ErrStale}},
		"spent":   {fence.Refused(c, 33), 409, []error{fence.ErrStale, fence.ErrSpent}},
		"invalid": {fence.Claim{Token: 1}.Check(), 400, []error{fence.ErrInvalid}},
		"missing": {fence.ErrMissing, 428, []error{fence.ErrMissing}},
		"other":   {errors.New("disk full"), 503, []error{fence.ErrUnknown}},
		"unknown": {fmt.Errorf("%w: disk full", fence.ErrUnknown), 503, []error{fence.ErrUnknown}},
	} {
		t.Run(name, func(t *testing.T) {
			p := throughJSON(t, fence.NewProblem(fmt.Errorf("in a handler: %w", test.err)))
			if p.Status != test.status || p.Type == "" || p.Title == "" || p.Detail == "" {
				t.Errorf("%+v", p)
			}
			back := p.Err()
			for _, kind := range []error{fence.ErrStale, fence.ErrSpent, fence.ErrInvalid, fence.ErrMissing,
				fence.ErrUnknown} {
				wanted := slices.ContainsFunc(test.kinds, func(k error) bool { return errors.Is(k, kind) })
				if errors.Is(back, kind) != wanted {
					t.Errorf("%v became %v", test.err, back)
				}
			}
		})
	}
}

func throughJSON(t *testing.T, p fence.Problem) fence.Problem {
	t.Helper()
	text, err := json.Marshal(p)
	if err != nil {
		t.Fatal(err)
	}
	p = fence.Problem{}
	if err := json.Unmarshal(text, &p); err != nil {
		t.Fatal(err)
	}
	return p
}

func TestProblemHasBothTokens(t *testing.T) {
	want := fence.StaleError{Claim: fence.Claim{Resource: "orders.42", Token: 33}, Highest: 34}
	p := fence.NewProblem(&want)
	if p.Resource != "orders.42" || p.Token != "000000000000033" || p.Highest != "000000000000034" {
		t.Errorf("%+v", p)
	}
	if got, ok := errors.AsType[*fence.StaleError](p.Err()); !ok || *got != want {
		t.Errorf("%+v became %+v", want, got)
	}
}

func TestProblemShowsNoInsides(t *testing.T) {
	p := fence.NewProblem(errors.New("dial tcp 10.0.0.7:5432: password"))
	if text := fmt.Sprint(p); strings.Contains(text, "10.0.0.7") {
		t.Error(text)
	}
}

// TestStrangeProblem is what a client makes of documents that are not of a guard.
func TestStrangeProblem(t *testing.T) {
	stale := fence.NewProblem(fence.Refused(fence.Claim{Resource: "a", Token: 33}, 34))
	for _, change := range []func(*fence.Problem){
		func(p *fence.Problem) { p.Token = "33" },
		func(p *fence.Problem) { p.Highest = "" },
	} {
		p := stale
		change(&p)
		if err := p.Err(); !errors.Is(err, fence.ErrStale) {
			t.Errorf("%+v became %v", p, err)
		}
	}
	if err := (fence.Problem{Type: "about:blank", Status: 409, Title: "Conflict"}).Err(); err == nil || errors.Is(err, fence.ErrStale) {
		t.Errorf("a conflict of another origin became %v", err)
	}
}
