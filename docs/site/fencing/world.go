// Package fencing is what the demonstration on the page docs/fencing.md shows: two workers, a lock and a storage, in a
// time that its reader lets pass. The lock is the state machine of the service, and the storage has the rule of the
// guards. The workers and the storage are as short as they can be.
package fencing

import (
	"fmt"
	"time"

	"github.com/holdfast-io/holdfast/actors/lease"
	"github.com/holdfast-io/holdfast/clients/fence"
	"github.com/holdfast-io/holdfast/messages"
)

const (
	resource = "account.7"
	ttl      = 5 * time.Second
	// floor is the last token that was issued before: the numbers are those of the tables of the page.
	floor = 32
	// begins is what is in the account.
	begins = 100
	// stops and resumes are when the first worker is paused and goes on, unless the reader decides.
	stops   = 2500 * time.Millisecond
	resumes = 10 * time.Second
)

// World is the two workers, the lock and the storage. It belongs to one goroutine.
type World struct {
	now     lease.Instant
	lock    *lease.State
	workers []*worker
	storage storage
	lines   []Line
	spans   []Span
	uses    []Use
	// planned are the pause and the end of the pause of the first worker that are still to come.
	planned []plan
}

type plan struct {
	at lease.Instant
	do func()
}

// New returns a world before anything has happened. Guarded says whether the storage refuses stale tokens.
func New(guarded bool) *World {
	w := &World{storage: storage{guarded: guarded, balance: begins}}
	w.lock = lease.New(resource, lease.Image{Floor: floor}, lease.NewEndedRequests(), lease.NewSessions(1))
	w.workers = []*worker{
		{world: w, name: "anna", amount: 30},
		{world: w, place: 1, name: "bert", amount: 5, at: lease.Instant(500 * time.Millisecond)},
	}
	anna := w.workers[0]
	w.planned = []plan{{lease.Instant(stops), anna.pause}, {lease.Instant(resumes), anna.resume}}
	return w
}

// Advance lets time pass, and everything happen that is due in it.
func (w *World) Advance(d time.Duration) {
	until := w.now.Add(d)
	for w.next() <= until {
		w.Step()
	}
	w.now = until
}

// Step goes on to the next thing that happens. Without one it does nothing.
func (w *World) Step() {
	at := w.next()
	if at == lease.Never {
		return
	}
	w.now = at
	if len(w.planned) > 0 && w.planned[0].at == at {
		do := w.planned[0].do
		w.planned = w.planned[1:]
		do()
		return
	}
	if w.lock.Wake() <= at {
		w.serve(lease.Tick{})
		return
	}
	for _, k := range w.workers {
		if k.due() == at {
			k.act()
			return
		}
	}
}

// next returns when the next thing happens.
func (w *World) next() lease.Instant {
	at := w.lock.Wake()
	if len(w.planned) > 0 {
		at = min(at, w.planned[0].at)
	}
	for _, k := range w.workers {
		at = min(at, k.due())
	}
	return at
}

// Pause stops a worker by its place, as SIGSTOP does: the process keeps what it knows, and does nothing. From then on
// the reader decides who is paused. An unknown place, or a worker that is paused or done, is left as it is.
func (w *World) Pause(place int) { w.decide(place, (*worker).pause) }

// Resume lets a worker go on with what it was about to do. An unknown place, or a worker that runs, is left as it is.
func (w *World) Resume(place int) { w.decide(place, (*worker).resume) }

func (w *World) decide(place int, do func(*worker)) {
	if place < 0 || place >= len(w.workers) {
		return
	}
	w.planned = nil
	do(w.workers[place])
}

// serve lets the lock decide about an event, and brings the answers to the workers.
func (w *World) serve(e lease.Event) {
	out := w.lock.Step(lease.Time{Instant: w.now}, e)
	for _, c := range out.Changes {
		g := c.GetGrant()
		if c.GetKind() == messages.Event_ACQUIRED {
			continue
		}
		for _, k := range w.workers {
			if k.name == g.GetOwner() {
				w.end(k.place, messages.Token(g.GetToken()))
			}
		}
		if c.GetKind() == messages.Event_EXPIRED {
			w.say("service", Plain, "The lease of %s with token %d has ended: %d s have passed.", g.GetOwner(), g.GetToken(),
				ttl/time.Second)
		}
	}
	for _, a := range out.Answers {
		for _, k := range w.workers {
			if l := a.Reply.GetLease(); a.To.Subject == k.name && a.Reply.GetStatus() == messages.Status_GRANTED {
				w.say("service", Plain, "%s gets the lock, with token %d.", k.name, l.GetToken())
				k.granted(messages.Token(l.GetToken()))
			}
		}
	}
}

// begin begins a span of a worker; token 0 is a pause.
func (w *World) begin(place int, token messages.Token) {
	w.spans = append(w.spans, Span{Worker: place, Token: uint64(token), From: millis(w.now), To: -1})
}

// end ends the span of a worker with this token.
func (w *World) end(place int, token messages.Token) {
	for i := range w.spans {
		if s := &w.spans[i]; s.Worker == place && s.Token == uint64(token) && s.To < 0 {
			s.To = millis(w.now)
		}
	}
}

func (w *World) say(who string, kind Kind, format string, args ...any) {
	w.lines = append(w.lines, Line{At: millis(w.now), Who: who, Kind: kind, Text: fmt.Sprintf(format, args...)})
}

// storage is an account. Its mark is the highest token that it has seen, if it has a guard.
type storage struct {
	guarded bool
	mark    messages.Token
	balance int
	// acknowledged is what was withdrawn by the answers to the workers.
	acknowledged int
}

// admit raises the mark, or refuses the token. Check and write are one step: nothing else happens meanwhile.
func (s *storage) admit(token messages.Token) error {
	if !s.guarded {
		return nil
	}
	if err := fence.Repeatable.Check(fence.Claim{Resource: resource, Token: token}, s.mark); err != nil {
		return err
	}
	s.mark = token
	return nil
}
