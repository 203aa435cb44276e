package linear

import (
	"crypto/rand"
	"fmt"
	"slices"
	"time"

	"github.com/holdfast-io/holdfast/messages"
)

// session is a session of one shard, as its client knows it. It is used until an outcome is unknown.
type session struct {
	*client
	id    string
	owner string // the name of the client that opened it
	ttl   uint32
	// until is when it ends at the earliest.
	until time.Duration
	// leases are those that end with it, unless they were lost.
	leases []holding
}

// shortSession is what is left of a session that a client may wait for.
const shortSession = 500 * time.Millisecond

// together takes some resources of a shard in a session, and uses them.
func (c *client) together() {
	group := c.groups[c.dice.IntN(len(c.groups))]
	s := &session{client: c, id: c.sessionID(), owner: c.owner, ttl: c.ttl()}
	s.until = c.Now() + millis(s.ttl)
	for range 1 + c.dice.IntN(3) {
		s.acquire(group[c.dice.IntN(len(group))])
	}
	for s.isUsable() && c.chance(80) && !c.ended() {
		c.rest()
		s.use()
	}
	if s.isUsable() {
		s.leave()
	}
}

// sessionID returns the id of a new session.
func (c *client) sessionID() string {
	c.sessions++
	if c.Sessions != "" {
		return fmt.Sprintf("%s-%d-of-client-%d", c.Sessions, c.sessions, c.number)
	}
	// A load that ran before on the same node may have left a session of the same owner, whose end would be that of
	// this one.
	return fmt.Sprintf("session-of-%s-%s-%s", c.owner, c.id(), rand.Text()[:8])
}

// isUsable reports whether the client knows how the session stands, and has leases in it.
func (s *session) isUsable() bool { return len(s.leases) > 0 && s.client.owner == s.owner }

func (s *session) acquire(r *resource) {
	has := slices.ContainsFunc(s.leases, func(h holding) bool { return h.resource == r })
	if s.client.owner != s.owner || has || r.count.Load() >= int64(s.Most) {
		return
	}
	o := s.wish(r)
	o.Session, o.TTL, o.Until, o.Reentrant = s.id, s.ttl, s.until, false
	o.Wait = min(o.Wait, s.ttl/4)
	switch got := s.ask(r, o); {
	case got.Open > 0 || got.Return > s.until:
		// the session may have ended with all its leases, and the request, or a late copy of it, opens it anew
		s.rename()
	case got.granted():
		s.leases = append(s.leases, holding{client: s.client, resource: r, Operation: got})
	}
}

// use does something with the session or with one of its leases.
func (s *session) use() {
	i := s.dice.IntN(len(s.leases))
	h := s.leases[i]
	o := Operation{Owner: h.Owner, Token: h.Shown.Token}
	switch n := s.dice.IntN(100); {
	case n < 45:
		if left := s.until - s.Now(); left < shortSession && s.chance(50) {
			s.pause(left + s.Pause)
			s.get(h.resource) // it is to show that the lease has run out, and a keep the same of the session
		}
		s.keep()
		return
	case n < 55:
		o.Kind = messages.OpRelease
	case n < 65:
		o.Kind, o.TTL = messages.OpExtend, h.ttl()
	case n < 80:
		o.Kind, o.Value = messages.OpSet, h.id()
	default:
		o = Operation{Kind: messages.OpAcquire, Owner: h.Owner, RequestID: h.id(), TTL: h.ttl(), Reentrant: true}
		switch s.dice.IntN(3) {
		case 0:
			o.Session = s.id
		case 1:
			o.Session = s.id + "-another"
		}
		o.Until = min(s.until, s.Now()+millis(o.TTL)) // if it opens a session
	}
	got := h.ask(h.resource, o)
	if o.Kind == messages.OpAcquire && (got.Open > 0 || got.granted() && got.Shown.Token != h.Shown.Token) {
		s.rename() // the lease had run out, and the request, or a late copy of it, opens the session anew
		return
	}
	if isOut := o.Kind == messages.OpRelease || o.Kind == messages.OpExtend; isOut && !got.failed() {
		s.leases = slices.Delete(s.leases, i, i+1)
	}
}

// keep lets the session run, now and then for longer than ever.
func (s *session) keep() {
	if s.chance(20) {
		s.ttl += s.client.ttl()
	}
	switch got := s.request(Operation{Kind: messages.OpKeep, TTL: s.ttl}); got.Status {
	case messages.Status_EXTENDED:
		s.until = got.Last + millis(s.ttl)
	case messages.Status_NOT_HELD:
		s.leases = nil
	}
}

// leave ends the session, or lets its leases go on by themselves, or lets it run out.
func (s *session) leave() {
	if isSecretive(s.owner) && s.chance(30) {
		s.request(Operation{Kind: messages.OpEnd, Owner: stranger(s.owner)})
	}
	switch n := s.dice.IntN(100); {
	case s.client.owner != s.owner:
	case n < 55:
		s.request(Operation{Kind: messages.OpEnd})
	case n < 75:
		s.request(Operation{Kind: messages.OpEnd, Orphan: true, TTL: s.ttl})
		for i := 0; i < len(s.leases) && s.client.owner == s.owner; i++ {
			s.leases[i].release()
		}
	default:
		s.rename()
	}
}

// request makes a request about the session. In the history it is one of each lease.
func (s *session) request(o Operation) Operation {
	o.Session = s.id
	if o.Owner == "" {
		o.Owner = s.owner
	}
	q, err := s.begin(s.leases[0].resource, o)
	if err != nil {
		return o
	}
	q.leases = slices.Clone(s.leases)
	o = s.await(q)
	if o.Status == 0 {
		s.rename()
	}
	return o
}
