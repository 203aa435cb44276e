package linear

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/holdfast-io/holdfast/messages"
)

// ErrViolated is every error of [Check] that says that something is wrong, or that it cannot be known.
var ErrViolated = errors.New("history refused")

// Terms are what a history is checked with. The zero value is the default, without floors.
type Terms struct {
	Floors Floors
	// Bounds of the search of each resource; one that gives up is a violation.
	Bounds Bounds
	// Slack is by how much the clocks of client and service may differ; 0: a millisecond, since they
	// are one and the same.
	Slack time.Duration
	// Remember is as in [audit.Shard].
	Remember time.Duration
	// Full: nodes may have reached their limit of leases.
	Full bool
	// Artifacts is the directory where history, journal, violations and pictures are kept when something
	// is wrong; empty: nowhere.
	Artifacts string
}

// defaultSlack is for rounding: answers and the journal have whole milliseconds.
const defaultSlack = time.Millisecond

// Violation is something that must not be.
type Violation struct {
	// Check is which one found it: model, windows, tokens, turns, journal, answers, replay, events, floors.
	Check string
	// Resource is empty if it is of all.
	Resource string
	Text     string
}

// String is the violation on one line.
func (v Violation) String() string {
	if v.Resource == "" {
		return v.Check + ": " + v.Text
	}
	return fmt.Sprintf("%s: %q: %s", v.Check, v.Resource, v.Text)
}

// Report is what a check has found.
type Report struct {
	Counts
	Violations []Violation
	// Kept is where the artifacts are, empty if there are none.
	Kept string
	// Pictures are the HTML files below Kept.
	Pictures []string
}

// mostShown bounds how many violations of one check an error shows; the report has all.
const mostShown = 6

// checking is a check under way.
type checking struct {
	Terms
	*Report
	journal *Journal
	lives   map[string]*life
	began   int64
}

// Check holds a history against everything there is: see the package. The journal must have been read
// after the last operation ended. Without one, unknown outcomes stay unknown, and what only the journal
// proves is not checked. The error is an [ErrViolated] if anything is wrong; the report is there in any
// case.
func Check(ctx context.Context, h *History, j *Journal, events []*Events, t Terms) (*Report, error) {
	t.Bounds, t.Slack = t.Bounds.withDefaults(), cmp.Or(t.Slack, defaultSlack)
	c := checking{Terms: t, Report: new(Report), journal: j, began: h.Began().UnixMilli()}
	if j != nil {
		c.lives = j.lives()
		c.whole(ctx, events)
	}
	all := h.byResource()
	for _, resource := range slices.Sorted(maps.Keys(all)) {
		if err := ctx.Err(); err != nil {
			return c.Report, fmt.Errorf("%w: not checked to the end: %w", ErrViolated, context.Cause(ctx))
		}
		c.resource(resource, all[resource])
	}
	for _, e := range events {
		c.Events += e.Count()
	}
	c.is("floors", "", c.Floors.below(c.Counts))
	if len(c.Violations) == 0 {
		return c.Report, nil
	}
	var kept error
	if t.Artifacts != "" {
		kept = c.keep(h, all)
	}
	return c.Report, errors.Join(c.err(), kept)
}

func (c *checking) is(check, resource string, texts ...string) {
	for _, text := range texts {
		if text != "" {
			c.Violations = append(c.Violations, Violation{check, resource, text})
		}
	}
}

// whole checks what is not of one resource.
func (c *checking) whole(ctx context.Context, events []*Events) {
	if c.journal.partial {
		return
	}
	wrong, held, lost := c.journal.Audit(c.Remember)
	c.is("journal", "", wrong...)
	if len(wrong) == 0 { // or the replay is bound to stumble over the same
		c.is("replay", "", checkReplay(ctx, c.journal, held, lost)...)
	}
	for _, e := range events {
		c.is("events", "", e.check(c.journal)...)
	}
}

func (c *checking) resource(resource string, operations []Operation) {
	c.count(operations, c.lives[resource])
	ephemeral := slices.ContainsFunc(operations, func(o Operation) bool { return o.Ephemeral })
	sure := !ephemeral || c.settled(resource, operations)
	forgotten := c.forgot(resource)
	c.is("tokens", resource, checkTokens(operations, !sure || forgotten)...)
	if forgotten {
		c.Forgotten++
	}
	if !sure {
		return
	}
	c.is("windows", resource, checkWindows(operations, c.Slack)...)
	if forgotten {
		return
	}
	c.is("turns", resource, checkTurns(operations)...)
	if c.journal != nil && !ephemeral {
		c.is("answers", resource, checkAnswers(operations, c.life(resource), c.Slack, c.began)...)
	}
	c.Judged++
	steps := c.steps(resource, operations)
	c.is("model", resource, linearize(newModel(c.Terms, ephemeral, steps), c.Bounds, steps))
}

// forgot reports whether the tokens of a resource do not begin with 1. Of a partial journal the page may be missing that
// says so.
func (c *checking) forgot(resource string) bool {
	if c.journal == nil {
		return false
	}
	return c.journal.forgotten[resource] || c.journal.partial && c.life(resource).first() > 1
}

// steps are what the model is shown of a resource.
func (c *checking) steps(resource string, operations []Operation) []Operation {
	if c.journal == nil || slices.ContainsFunc(operations, func(o Operation) bool { return o.Ephemeral }) {
		return resolve(operations, nil)
	}
	return resolve(operations, c.life(resource))
}

func (c *checking) life(resource string) *life {
	if l := c.lives[resource]; l != nil {
		return l
	}
	return newLife()
}

// settled reports whether ephemeral leases of the resource can be held against the model: nothing is
// unknown, and no owner has opened the shard since the history began.
func (c *checking) settled(resource string, operations []Operation) bool {
	if slices.ContainsFunc(operations, func(o Operation) bool { return o.Open > 0 }) {
		return false
	}
	key, err := messages.KeyOf(resource)
	if err != nil || c.journal == nil || c.journal.Shards() == 0 {
		return err == nil
	}
	return c.journal.opened(key, c.began) == 0
}

// err returns the violations, so that the report of a test shows them: the first few of each check, for one
// that finds hundreds must not hide what another says.
func (c *checking) err() error {
	var b strings.Builder
	shown, of := 0, make(map[string]int)
	for _, v := range c.Violations {
		if of[v.Check]++; of[v.Check] <= mostShown {
			shown++
			b.WriteString("\n  " + v.String())
		}
	}
	if more := len(c.Violations) - shown; more > 0 {
		fmt.Fprintf(&b, "\n  and %d more", more)
	}
	if c.Kept != "" {
		b.WriteString("\n  kept in " + c.Kept)
	}
	return fmt.Errorf("%w: %d violations:%s", ErrViolated, len(c.Violations), b.String())
}
