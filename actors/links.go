package actors

import (
	"time"

	"github.com/holdfast-io/holdfast/actors/lease"
	"github.com/holdfast-io/holdfast/messages"
)

// probeEvery is how often a client is probed while another request waits for a lease of its session.
const probeEvery = time.Second

// disconnected is the reason of the end of a session whose client was not connected.
const disconnected = "disconnected"

// link is what is known of the connection of a session's client. It is probed while the timer is set.
type link struct {
	subject string
	// disconnectAfter is how long the subject may have no listener.
	disconnectAfter time.Duration
	timer           timer
	// number is that of the last probe, 0 if there was none; noListener: it had no listener.
	number     uint64
	noListener bool
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
}

func newLinks(s *Shard, t *timers, epoch uint64) links {
	return links{shard: s, timers: t, bySession: make(map[*lease.Session]*link), last: epoch << 32}
}

// set takes in what a keep says about the client's connection.
func (l *links) set(x *lease.Session, r *messages.KeepRequest) {
	if r.GetDisconnectMs() == 0 || l.shard.cfg.Prober == nil {
		l.drop(x)
		return
	}
	k := l.bySession[x]
	if k == nil || k.subject != r.GetAlive() {
		l.drop(x)
		k = &link{subject: r.GetAlive(), timer: timer{session: x, probes: true}}
		l.bySession[x] = k
	}
	k.disconnectAfter = time.Duration(r.GetDisconnectMs()) * time.Millisecond
	l.begin(x)
}

// drop forgets the link of a session.
func (l *links) drop(x *lease.Session) {
	if k := l.bySession[x]; k != nil {
		l.timers.set(&k.timer, lease.Never)
		delete(l.bySession, x)
	}
}

// begin probes the client of a session if another request waits for a lease of it, unless it is being probed.
func (l *links) begin(x *lease.Session) {
	if k := l.bySession[x]; k != nil && k.timer.index == 0 && x.IsAwaited() {
		k.number = 0
		l.probe(x)
	}
}

// probe sends a probe, and sets the time of the next one. It stops when no request waits any more.
func (l *links) probe(x *lease.Session) {
	k := l.bySession[x]
	if k == nil || !x.IsRunning() || !x.IsAwaited() {
		return
	}
	now := l.shard.cfg.Clock.Now().Instant
	if k.number == 0 || !k.noListener {
		k.since = now
	}
	l.last++
	k.number, k.noListener = l.last, false
	l.timers.set(&k.timer, now.Add(probeEvery))
	l.shard.cfg.Prober.Probe(Probe{Shard: l.shard.cfg.Shard, Session: x.Key, Number: k.number, Subject: k.subject})
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
