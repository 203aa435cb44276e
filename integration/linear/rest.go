package linear

import (
	"slices"

	"github.com/holdfast-io/holdfast/messages"
)

// rests checks that a release leaves what is left of the shortest hold of its lease, and that nothing is left of one
// whose request was withdrawn. What the journal shows of it by itself, package audit checks.
func (a *answers) rests() {
	for token, at := range a.ended {
		c := a.changes[at]
		granted, ok := a.granted[token]
		if !ok || !c.mayRest() || c.GetKind() != messages.Event_RELEASED || c.bounced() {
			continue
		}
		by, _ := a.askers(c)
		by = slices.DeleteFunc(slices.Clone(by), func(o *Operation) bool { return a.effects(o, c) == 0 })
		over := a.asked(a.changes[granted]) + millis(c.GetGrant().GetMinHoldMs())
		switch rests, n := c.GetRestingMs() > 0, countOf(by, (*Operation).named); {
		case rests && n > 0 && n == len(by):
			a.is("the request was withdrawn, and leaves a rest: %s; %s", by[0].span(), c)
		case !rests && n == 0 && a.seen[at] < over-a.slack:
			a.is("it was seen at %v, %v before its shortest hold was over, of which it leaves nothing: %s",
				a.seen[at], over-a.seen[at], c)
		}
	}
}

func countOf(all []*Operation, is func(*Operation) bool) (n int) {
	for _, o := range all {
		n += count(is(o))
	}
	return n
}
