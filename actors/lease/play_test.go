package lease_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/holdfast-io/holdfast/actors/lease"
	"github.com/holdfast-io/holdfast/messages"
)

// tester is the part of testing.TB that a rapid.T has too.
type tester interface {
	Helper()
	Fatalf(format string, args ...any)
}

// play takes a State through a script, and holds every step against the model and the audit.
type play struct {
	state  *lease.State
	model  *model
	audit  *audit
	script script // so far
	// outcomes and prints are all outcomes, and what they looked like when they were new.
	outcomes []lease.Outcome
	prints   []string
}

func newPlay(floor messages.Token) *play {
	return &play{
		state:  newState(lease.Image{Floor: floor}),
		model:  &model{floor: uint64(floor)},
		audit:  newAudit(floor),
		script: script{floor: floor},
	}
}

// playOut plays a whole script.
func playOut(t tester, s script) *play {
	t.Helper()
	p := newPlay(s.floor)
	for _, s := range s.steps {
		p.step(t, s)
	}
	return p
}

func (p *play) step(t tester, s step) lease.Outcome {
	t.Helper()
	p.script.steps = append(p.script.steps, s)
	o := p.state.Step(s.time(), s.event())
	if s.changesOwner() {
		p.state = newState(s.next(p.state.Image()))
	}
	p.outcomes, p.prints = append(p.outcomes, o), append(p.prints, fingerprint(o))

	if got, want := said(o), p.model.play(s); !slices.Equal(got, want) {
		p.fail(t, "got  %s\nwant %s", strings.Join(got, "; "), strings.Join(want, "; "))
	}
	if wake, next := p.state.Wake(), p.model.next(); wake > next {
		p.fail(t, "wakes at %v, after %v", wake, next)
	}
	if p.audit.check(&s, o, p.state); len(p.audit.faults) > 0 {
		p.fail(t, "%s", strings.Join(p.audit.faults, "\n"))
	}
	return o
}

// finish lets all time pass: then the resource is free, every request has had its answer, and no outcome has
// changed since, though they share what they are made of.
func (p *play) finish(t tester) {
	t.Helper()
	for {
		if wake := p.state.Wake(); wake != lease.Never {
			p.step(t, tick(wake))
			continue
		}
		back := p.model.heldBack()
		if len(back) == 0 {
			break
		}
		p.step(t, step{at: p.model.now, who: "op", from: "op", verb: "confirm", token: back[0].token})
	}
	if len(p.audit.open) > 0 {
		p.fail(t, "never answered: %v", p.audit.open)
	}
	for i, o := range p.outcomes {
		if fingerprint(o) != p.prints[i] {
			p.fail(t, "the outcome of %q is now %v", p.script.steps[i], said(o))
		}
	}
}

func (p *play) fail(t tester, format string, args ...any) {
	t.Helper()
	t.Fatalf("%safter this script:\n%s", fmt.Sprintf(format, args...)+"\n", p.script)
}

func tick(at lease.Instant) step { return step{at: at, who: "node", from: "node", verb: "tick"} }

// row is one line of a table of examples. What is then is the changes, the answers, and how many
// wait if any do.
type row struct{ name, given, when, then string }

// tables are all examples, by what they are about.
var tables = map[string][]row{
	"acquire":       acquireRows,
	"release":       releaseRows,
	"extend":        extendRows,
	"get":           getRows,
	"break":         breakRows,
	"queue":         queueRows,
	"undeliverable": undeliverableRows,
	"time":          timeRows,
	"sharing":       sharingRows,
	"downgrade":     downgradeRows,
	"set":           setRows,
	"secret":        secretRows,
	"delay":         delayRows,
	"block":         blockRows,
	"hold":          holdRows,
}

func TestExamples(t *testing.T) {
	seen := map[string]int{}
	for about, rows := range tables {
		t.Run(about, func(t *testing.T) {
			for _, r := range rows {
				t.Run(r.name, func(t *testing.T) {
					p := r.check(t)
					add(seen, p.audit.seen)
				})
			}
		})
	}
	if !t.Failed() {
		wantWholeContract(t, seen)
	}
}

func (r row) check(t *testing.T) *play {
	t.Helper()
	p := playOut(t, mustParse(r.given))
	got := said(p.step(t, mustParse(r.when).steps[0]))
	if n := p.state.Waiting(); n > 0 {
		got = append(got, fmt.Sprintf("queue=%d", n))
	}
	if want := lines(r.then); !slices.Equal(got, want) {
		t.Errorf("got\n\t%s\nwant\n\t%s", strings.Join(got, "\n\t"), strings.Join(want, "\n\t"))
	}
	return p
}

func lines(text string) []string {
	lines := strings.FieldsFunc(text, func(r rune) bool { return r == ';' || r == '\n' })
	for i := range lines {
		lines[i] = strings.TrimSpace(lines[i])
	}
	return slices.DeleteFunc(lines, func(line string) bool { return line == "" })
}

func add(sum, more map[string]int) {
	for what, n := range more {
		sum[what] += n
	}
}

// wantWholeContract fails for an answer of the contract that was never seen.
func wantWholeContract(t *testing.T, seen map[string]int) {
	t.Helper()
	for status, verbs := range contract {
		for _, verb := range verbs {
			if seen[verb+" "+status.String()] == 0 {
				t.Errorf("no %s was answered %s", verb, status)
			}
		}
	}
}

func sameImage(a, b lease.Image) bool {
	return sameLease(a.Last(), b.Last()) && a.Floor == b.Floor &&
		slices.EqualFunc(holdings(a), holdings(b), sameLease) && slices.EqualFunc(ended(a), ended(b), sameLease)
}

func sameLease(a, b lease.Lease) bool {
	return proto.Equal(a.Grant, b.Grant) && a.How == b.How && a.Deadline == b.Deadline && a.RestMs == b.RestMs &&
		a.Rest == b.Rest
}

func holdings(i lease.Image) []lease.Lease { return slices.Collect(i.Holdings()) }

func ended(i lease.Image) []lease.Lease { return slices.Collect(i.Ended()) }
