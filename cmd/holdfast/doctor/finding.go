package doctor

import (
	"errors"
	"fmt"

	"github.com/holdfast-io/holdfast/cmd/holdfast/internal/ask"
	"github.com/holdfast-io/holdfast/cmd/holdfast/internal/display"
)

// State is the outcome of a check.
type State string

// The states, from the best to the worst.
const (
	OK         State = "ok"
	NotVisible State = "not visible" // the user of the connection lacks a right, or nothing answers that knows
	Warning    State = "warning"     // it works now, and may not for long or not for all
	Problem    State = "problem"     // requests fail, or locks may be lost
)

// Finding is one thing that is wrong.
type Finding struct {
	// State is [Warning] or [Problem].
	State State `json:"state"`
	// What is wrong, by its name; Why it matters; and what to Do.
	What string `json:"what"`
	Why  string `json:"why"`
	Do   string `json:"do"`
	// Alert is the alert for the same state, whose runbook says more; empty: there is none.
	Alert string `json:"alert,omitempty"`
}

// Result is what a check has found.
type Result struct {
	// Check is its name.
	Check string `json:"check"`
	// State is that of the worst finding; without one [OK] or [NotVisible].
	State State `json:"state"`
	// Text is what was seen, in a few words.
	Text string `json:"text"`
	// Needs is the right or the condition that would show more; empty if all was visible.
	Needs string `json:"needs,omitempty"`
	// Findings are in the order in which they were found.
	Findings []Finding `json:"findings,omitempty"`
}

// see notes what was seen.
func (r *Result) see(format string, args ...any) { r.Text = fmt.Sprintf(format, args...) }

// hidden notes what would show more.
func (r *Result) hidden(format string, args ...any) {
	r.Needs = fmt.Sprintf(format, args...)
	if r.State == OK {
		r.State = NotVisible
	}
}

// cut notes that the time of the check ended before all was looked at.
func (r *Result) cut(seen, all int, noun string) {
	r.hidden("more time (--timeout): %d of %s looked at", seen, display.Count(all, noun))
}

// unanswered notes which answer would show more, and why there is none.
func (r *Result) unanswered(what string, err error) {
	switch denied, is := errors.AsType[*ask.DeniedError](err); {
	case is:
		r.hidden("%s", denied)
	case errors.Is(err, ask.ErrNoAnswer):
		r.hidden("an answer in time to %s", what)
	default:
		r.hidden("another answer to %s than %q", what, err)
	}
}

// problem adds a [Problem]: what is wrong, why it matters, and what to do.
func (r *Result) problem(what, why, do string) { r.add(Problem, what, why, do) }

// warn adds a [Warning]: what is wrong, why it matters, and what to do.
func (r *Result) warn(what, why, do string) { r.add(Warning, what, why, do) }

func (r *Result) add(s State, what, why, do string) {
	r.Findings = append(r.Findings, Finding{State: s, What: what, Why: why, Do: do})
	if r.State != Problem {
		r.State = s
	}
}

// as says which alert is for the state of the newest finding.
func (r *Result) as(alert string) { r.Findings[len(r.Findings)-1].Alert = alert }
