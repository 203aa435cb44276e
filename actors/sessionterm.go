package actors

import (
	"github.com/asynkron/protoactor-go/actor"

	"github.com/holdfast-io/holdfast/actors/lease"
	"github.com/holdfast-io/holdfast/messages"
)

// What a term does for its sessions.

// sessionRequest takes in a request about a session.
func (t *term) sessionRequest(r *Request) {
	now := t.shard.cfg.Clock.Now().Instant
	t.sessions.place.sent()
	var reply *messages.Reply
	if e, ok := r.Event.(lease.Keep); ok {
		reply = t.keep(now, r, e)
	} else if e, ok := r.Event.(lease.EndSession); ok {
		reply = t.sessions.end(now, r, e)
	}
	if reply != nil {
		t.sessionAnswered(t.sessions.answered(r, now, reply))
	} else {
		t.observation.decided(&decision{activation: t.sessions.place, request: r, at: now}) // it waits
	}
	t.handleNews()
}

// sessionAnswered lets the answer to a request about a session leave when the journal confirms it.
func (t *term) sessionAnswered(d *decision) {
	t.observation.decided(d) // mutant: KeepOfADeposedOwner
	t.batcher.add(d)
}

func (t *term) keep(now lease.Instant, r *Request, e lease.Keep) *messages.Reply {
	reply := t.sessions.keep(now, r, e)
	x := t.sessions.Find(now, lease.KeyOfSession(r.Resource))
	if x != nil && x.IsRunning() && x.Opens(e.Request.GetSecret()) {
		t.links.set(x, e)
		t.timers.arm() // it may have begun to probe or to notify
	}
	return reply
}

// noListener ends a session whose client has been disconnected for long.
func (t *term) noListener(m noListener) {
	x := t.sessions.Find(t.shard.cfg.Clock.Now().Instant, m.session)
	if x != nil && x.IsRunning() && t.links.noListener(x, m.number) {
		t.sessions.End(x, messages.Event_EXPIRED, disconnected)
	}
	t.handleNews()
}

// notifyBroken lets the client of a session know that an operator has broken a lease of it, which is certain now.
func (t *term) notifyBroken(d *decision) {
	g := d.broken().GetGrant()
	if len(g.GetSession()) == 0 {
		return
	}
	if x := t.sessions.Find(t.shard.cfg.Clock.Now().Instant, lease.SessionKey(g.GetSession())); x != nil {
		t.links.ended(x, g)
	}
}

// sessionDue ends a session whose deadline has come. A keep leaves the timer as it is.
func (t *term) sessionDue(x *lease.Session) {
	if x = t.sessions.Find(t.shard.cfg.Clock.Now().Instant, x.Key); x != nil && x.IsRunning() {
		t.timers.set(t.sessions.timer(x), x.Deadline())
	}
}

// handleNews does what the sessions have to report.
func (t *term) handleNews() {
	if !t.sessions.HasNews() {
		return
	}
	news := t.sessions.News()
	for _, x := range news.Sooner {
		if x.IsRunning() {
			t.timers.set(t.sessions.timer(x), x.Deadline())
		}
	}
	for _, x := range news.Wanted {
		t.links.send(x)
	}
	for _, x := range news.Unsettled {
		t.sessions.settle(x)
	}
	for _, x := range news.Settled {
		t.settled(x)
	}
	t.timers.arm()
	t.sessions.goOn()
}

// settled answers the requests that have waited for a session, and forgets the session if it has ended.
func (t *term) settled(x *lease.Session) {
	for _, d := range t.sessions.answers(x, t.shard.cfg.Clock.Now().Instant) {
		t.sessionAnswered(d)
	}
	if x.IsRunning() {
		return
	}
	t.links.drop(x)
	if timer := t.sessions.forget(x); timer != nil {
		t.timers.set(timer, lease.Never)
	}
}

// settleSome brings some leases in line with their sessions. Those that end in one turn share a commit, as far as they
// fit into it. The next turn comes behind that commit, so that other requests do not wait for all of them.
func (t *term) settleSome(ctx actor.Context) {
	t.sessions.sent = false
	if t.draining {
		return
	}
	before := t.changes
	for n := 0; n < settleAtOnce && t.changes-before < settleAtOnce; n++ {
		resource, ok := t.sessions.next()
		if !ok {
			break
		}
		t.request(ctx, &Request{Resource: resource, Event: lease.Tick{}})
	}
	t.settleOn()
}

// settleOn lets a later turn bring further leases in line, unless many decisions wait for the journal.
func (t *term) settleOn() {
	if n := len(t.batcher.pending); n == 0 || n < settleAtOnce && !t.batcher.isAppending() {
		t.sessions.goOn()
	}
}
