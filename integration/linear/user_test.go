package linear_test

import (
	"fmt"

	"github.com/holdfast-io/holdfast/integration/linear"
	"github.com/holdfast-io/holdfast/messages"
)

// user is a client in a world.
type user struct {
	*world
	number, lives, requests int
	owner                   string
	stretch                 uint32
	holds                   linear.Operation
	// past are requests that were granted or withdrawn, of which none is on its way.
	past []linear.Operation
}

func (u *user) rename() {
	u.lives++
	u.stretch, u.holds = 0, linear.Operation{}
	u.owner = fmt.Sprintf("u%d.%d", u.number, u.lives)
}

func (u *user) id() string {
	u.requests++
	return fmt.Sprintf("u%d-%d", u.number, u.requests)
}

func (u *user) ttl() uint32 {
	u.stretch++
	return []uint32{100, 300}[u.dice.IntN(2)] + u.stretch
}

// ask sends a request, and goes on with the next when that is over.
func (u *user) ask(o linear.Operation) *asking {
	o.Client, o.Resource = u.number, theResource
	q := &asking{Operation: o}
	q.done = func(o linear.Operation) {
		switch {
		case o.Status == 0:
			u.rename()
		case o.Kind == messages.OpAcquire && o.Status == messages.Status_GRANTED && o.Owner == u.owner:
			u.holds = o
			if o.Open == 0 && !o.Reentrant {
				u.past = append(u.past, o)
			}
		// else it goes on with the former token
		case o.Status == messages.Status_EXTENDED && o.Limit > 0 && u.chance(70):
			u.holds.Shown = o.Shown
		case o.Kind == messages.OpAcquire && o.Status == messages.Status_CANCELLED && o.Open == 0 && !o.Reentrant:
			u.past = append(u.past, o)
		}
		u.in(u.upTo(25), u.next)
	}
	u.send(q)
	return q
}

func (u *user) next() {
	if u.over {
		return
	}
	if u.stretch > 90 || u.chance(3) {
		u.rename()
	}
	o := linear.Operation{Owner: u.owner, Token: u.holds.Shown.Token}
	held := u.holds.Shown.Token > 0
	switch n := u.dice.IntN(100); {
	case held && n < 35:
		o.Kind = messages.OpRelease
		if u.pool == nil && u.chance(15) { // else it may have several
			o.Token = 0
		}
		if u.chance(80) {
			u.holds = linear.Operation{}
		}
	case held && n < 60:
		o.Kind, o.TTL = messages.OpExtend, u.ttl()
		switch {
		case u.pool == nil && u.chance(50):
			o.Order = 1 + u.dice.Uint64N(9)
		case u.pool != nil && u.chance(40):
			o.Limit = readers
		}
	case held && n < 66 && u.holds.Open == 0 && !u.holds.Reentrant:
		o = u.holds.Unanswered()
	case held && n < 72:
		o = linear.Operation{Kind: messages.OpAcquire, Owner: u.owner, RequestID: u.id(), TTL: u.ttl(), Reentrant: true,
			Limit: u.holds.Limit, Permits: u.holds.Permits}
	case n < 6 && len(u.past) > 0:
		o = u.past[u.dice.IntN(len(u.past))].Unanswered()
	case n < 10:
		o = linear.Operation{Kind: messages.OpGet}
	case n < 14:
		o = linear.Operation{Kind: messages.OpBreak, Token: max(1, u.token-u.dice.Uint64N(2)*u.dice.Uint64N(2)),
			Reason: u.id()}
	case n < 20:
		o.Kind, o.TTL, o.Token = messages.OpExtend, u.ttl(), max(1, u.token)
	default:
		u.lock()
		return
	}
	u.ask(o)
}

// lock asks for the resource, and may cancel that, or vanish meanwhile.
func (u *user) lock() {
	o := linear.Operation{Kind: messages.OpAcquire, Owner: u.owner, RequestID: u.id(), TTL: u.ttl(),
		Reentrant: u.chance(10)}
	if u.pool != nil {
		o.Limit, o.Permits = u.pool.sharing()
	}
	if u.chance(60) {
		o.Wait = 20 + u.dice.Uint32N(200)
	}
	q := u.ask(o)
	switch {
	case o.Wait > 0 && u.chance(15):
		cancel := &asking{done: func(linear.Operation) {}, Operation: linear.Operation{
			Client: u.number, Resource: theResource, Kind: messages.OpRelease, Owner: u.owner, RequestID: o.RequestID,
		}}
		u.in(u.upTo(50), func() { u.send(cancel) })
	case o.Wait > 0 && u.loss > 0 && u.chance(15):
		u.in(u.upTo(50), func() { q.gone = true })
	}
}
