package actors

import (
	"time"

	"github.com/holdfast-io/holdfast/actors/lease"
	"github.com/holdfast-io/holdfast/messages"
	"github.com/holdfast-io/holdfast/messages/journal"
)

const (
	// probeEvery is how often a client is probed while another request waits for a lease of its session.
	probeEvery = time.Second
	// noticesAtOnce bounds how many notices one turn sends to a client. The next ones follow in another turn.
	noticesAtOnce = 256
)

// disconnected is the reason of the end of a session whose client was not connected.
const disconnected = "disconnected"

// link is how the client of a session is reached, and what is known of its connection. The timer is set while there is
// something to send.
type link struct {
	subject string
	// notices: the client asks for them, in this encoding.
	notices  bool
	encoding messages.Encoding
	// disconnectAfter is how long the subject may have no listener; 0: it is not probed.
	disconnectAfter time.Duration
	timer           timer
	// number is that of the last probe, 0 if there was none; noListener: it had no listener.
	number     uint64
	noListener bool
	// next is when the next probe is due.
	next lease.Instant
	// since is when the first of the last probes was sent that all had no listener.
	since lease.Instant
}

// links are the links of the sessions of a term whose clients asked for it.
type links struct {
	shard     *Shard
	timers    *timers
	bySession map[*lease.Session]*link
	// last is the number of the last probe. Those of other terms are others.
	last uint64
	// waiting returns how many requests wait for a resource.
	waiting func(resource string) int
}

func newLinks(s *Shard, t *timers, epoch uint64, waiting func(resource string) int) links {
	return links{
		shard: s, timers: t, bySession: make(map[*lease.Session]*link), last: epoch << 32, waiting: waiting,
	}
}

// set takes in what a keep says about the client's connection.
func (l *links) set(x *lease.Session, e lease.Keep) {
	r := e.Request
	if r.GetAlive() == "" || r.GetDisconnectMs() == 0 && !r.GetNotices() || l.shard.cfg.Prober == nil {
		l.drop(x)
		return
	}
	k := l.bySession[x]
	if k == nil || k.subject != r.GetAlive() {
		l.drop(x)
		k = &link{subject: r.GetAlive(), timer: timer{session: x, ofLink: true}}
		l.bySession[x] = k
	}
	k.notices, k.encoding = r.GetNotices(), e.From.Encoding
	k.disconnectAfter = time.Duration(r.GetDisconnectMs()) * time.Millisecond
	l.send(x)
}

// drop forgets the link of a session.
func (l *links) drop(x *lease.Session) {
	if k := l.bySession[x]; k != nil {
		l.timers.set(&k.timer, lease.Never)
		delete(l.bySession, x)
	}
}

// send sends to the client of a session what is due, and sets the time of what comes next.
func (l *links) send(x *lease.Session) {
	k := l.bySession[x]
	if k == nil || !x.IsRunning() {
		return
	}
	now := l.shard.cfg.Clock.Now().Instant
	l.timers.set(&k.timer, min(l.probe(k, x, now), l.notify(k, x, now)))
}

// probe sends a probe if another request waits for a lease of the session, unless one went out shortly before. It
// returns when the next one is due.
func (l *links) probe(k *link, x *lease.Session, now lease.Instant) lease.Instant {
	switch {
	case k.disconnectAfter == 0 || !x.IsAwaited():
		k.number = 0
		return lease.Never
	case now < k.next:
		return k.next
	}
	if k.number == 0 || !k.noListener {
		k.since = now
	}
	l.last++
	k.number, k.noListener, k.next = l.last, false, now.Add(probeEvery)
	l.shard.cfg.Prober.Probe(Probe{Shard: l.shard.cfg.Shard, Session: x.Key, Number: k.number, Subject: k.subject})
	return k.next
}

// notify sends the notices that are due, and returns when the next one is.
func (l *links) notify(k *link, x *lease.Session, now lease.Instant) lease.Instant {
	due, next := x.Notices(now, noticesAtOnce)
	for _, n := range due {
		l.publish(k, n.Resource, &messages.Notice{Token: uint64(n.Token), Waiting: uint32(l.waiting(n.Resource))})
	}
	return next
}

// ended lets the client of a session know that an operator has broken a lease of it.
func (l *links) ended(x *lease.Session, g *journal.Grant) {
	if k := l.bySession[x]; k != nil && k.notices {
		l.publish(k, g.GetResource(), &messages.Notice{Token: g.GetToken(), Ended: true})
	}
}

// publish sends a notice about a resource with this qualified name.
func (l *links) publish(k *link, resource string, n *messages.Notice) {
	_, n.Resource = messages.Unqualify(resource) // mutant: NoticeNamesTheTenant
	// mutant: NoticeIsNotSent
	l.shard.cfg.Prober.Notify(Notice{Subject: k.subject, Encoding: k.encoding, Notice: n})
}

// noListener notes that a probe had no listener, and reports whether the client counts as disconnected.
func (l *links) noListener(x *lease.Session, number uint64) bool {
	k := l.bySession[x]
	if k == nil || k.number != number {
		return false
	}
	k.noListener = true
	// mutant: PatienceFromTheFirstProbe
	return l.shard.cfg.Clock.Now().Sub(max(k.since, x.LastRequest())) >= k.disconnectAfter
}
