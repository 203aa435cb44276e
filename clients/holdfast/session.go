package holdfast

import (
	"crypto/rand"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/holdfast-io/holdfast/clients/holdfast/internal/lease"
	"github.com/holdfast-io/holdfast/clients/internal/alarm"
	"github.com/holdfast-io/holdfast/clients/internal/clock"
	"github.com/holdfast-io/holdfast/clients/request"
	"github.com/holdfast-io/holdfast/messages"
)

// maxUnproven is how many keeps are sent before the first answer to one of this client: to the owner of the shard, and
// to any node. A user who may not send them gets an error of the connection with each.
const maxUnproven = 2

// session is a session of one shard: the [keeper] of the leases that extensions have put into it since it has lost
// none. The others are renewed by themselves. No goroutine belongs to it: its alarm and answers drive it.
type session struct {
	sessions *sessions
	kind     sessionKind
	// id is used once, for as long as the session lasts; key is the id in a subject, label what answers show of it.
	id, key, label string
	payload        []byte
	// known is how long its leases are known to last from the sending of a keep.
	known time.Duration

	mu sync.Mutex
	// users counts the handles whose leases may be in the session, moved is when one of them last came into it or left
	// it.
	users int
	moved time.Time
	// begun: a lease is in the session, so keeps are sent. over: no more.
	begun, over bool
	// forsaken: a lease may be in it that has to run out.
	forsaken bool
	// failing is why the latest keep had no effect; nil: it had.
	failing error
	renewal lease.Renewal
	// leases are those that its keeps are known to prolong, ends is when they must be considered over.
	leases map[kept]struct{}
	ends   time.Time
	// since is when it began to prolong those, zero before the first answer to a keep: it has lost no lease since.
	since time.Time
	// losses is how many it has lost, as the latest answer has shown.
	losses uint64
	// proved is a moment since which none of the leases has left it.
	proved time.Time
	// lost are the leases that it prolongs no more, with the ends that they have here, until they have another keeper.
	lost map[kept]time.Time
	// changed: the leases have to receive that keeps fail, or do not any more. wanted are the resources of which they have
	// to receive that others want them.
	changed bool
	wanted  map[string]struct{}
	alarm   alarm.Alarm // calls Wake
}

// newSession returns a session that no lease is in.
func newSession(s *sessions, k sessionKind) *session {
	id := rand.Text()
	key, _ := messages.EncodeKey(id) // it is valid
	x := &session{
		sessions: s, kind: k, id: id, key: key, label: messages.SessionLabel(messages.SessionHash(id)),
		payload: request.Encode(s.keep(k)), known: min(k.ttl, s.c.cfg.maxKnown(&acquireOptions{})),
	}
	x.alarm.Waker = x
	return x
}

// unlock unlocks mu, and reports to the leases what has changed. A lease may have its mutex held when it calls a method
// that changes nothing for leases; that unlocks mu alone.
func (x *session) unlock() {
	lost, failing, known := slices.Collect(maps.Keys(x.lost)), []kept(nil), []kept(nil)
	if x.changed {
		x.changed, failing = false, slices.Collect(maps.Keys(x.leases))
	}
	wanted := x.wanted
	if x.wanted = nil; wanted != nil {
		known = slices.AppendSeq(slices.Clone(lost), maps.Keys(x.leases))
	}
	x.mu.Unlock()
	for _, l := range known {
		l.wantedOf(wanted)
	}
	for _, l := range lost {
		l.keeperLost(x)
	}
	for _, l := range failing {
		l.keeperFails(x, x.failure)
	}
}

// use adds a handle that names the session. It returns false if the session is over.
func (x *session) use() bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	if !x.over {
		x.users++
		x.moved = clock.Now()
	}
	return !x.over
}

// disuse takes a handle away whose lease is not in the session any more.
func (x *session) disuse() {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.moved = clock.Now()
	if x.users--; x.users == 0 && !x.begun && !x.over {
		x.close() // it has no alarm that would, and no leases
	}
}

// takes reports whether leases of this TTL may be put into the session.
func (x *session) takes(ttl time.Duration) bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	return !x.over && x.kind.ttl == ttl
}

// until returns when the lease must be considered over; zero: the session does not prolong it.
func (x *session) until(l kept) time.Time {
	x.mu.Lock()
	defer x.mu.Unlock()
	if _, is := x.leases[l]; is {
		return x.ends
	}
	return x.lost[l]
}

// add receives that an extension sent at a moment has put a lease into the session. It returns false if keeps do not
// count for the lease, because the session may have lost it meanwhile.
func (x *session) add(l kept, _, sent time.Time) bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.over {
		return false
	}
	if !x.begun {
		x.begun = true
		x.renewal = lease.NewRenewal(lease.New(sent, x.known, x.known), sent, x.sessions.c.begun)
		x.renewal.Above(0) // all keeps ask for the same, so a late one shortens nothing
		x.send()
	}
	x.moved = clock.Now()
	if x.since.IsZero() || !sent.After(x.since) { // mutant: AnswerFromBeforeALoss
		return false
	}
	delete(x.lost, l)
	put(&x.leases, l, struct{}{})
	return true
}

// remove takes a lease away that another keeper prolongs, or none.
func (x *session) remove(l kept) {
	x.mu.Lock()
	defer x.mu.Unlock()
	delete(x.leases, l)
	delete(x.lost, l)
}

// lastEnd returns when the leases of the session are over at the service, unless a keep was delayed on its way.
func (x *session) lastEnd() time.Time {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.renewal.End()
}

// forsake has the session run out, because a lease may be in it that is not wanted and could not be given back. Its
// other leases move to another session.
func (x *session) forsake() {
	x.mu.Lock()
	defer x.mu.Unlock()
	if !x.over {
		x.forsaken = true
		x.sessions.c.alarms.Set(&x.alarm, clock.Now())
	}
}

// Wake is called by the alarm.
func (x *session) Wake() {
	x.mu.Lock()
	defer x.unlock()
	now := clock.Now()
	switch {
	case x.over:
	case x.forsaken, x.users == 0: // mutant: SessionIsNotForsaken
		x.close()
	case !now.Before(x.latest()):
		x.sessions.proven.Store(false)
		x.close()
	case !x.sessions.proven.Load() && x.renewal.Attempts() >= maxUnproven:
		x.sessions.refuse()
		x.close()
	case now.Before(x.renewal.Due()):
		x.schedule()
	default:
		x.send()
		if x.renewal.Attempts() > 1 {
			x.endanger(request.ErrNoAnswer)
		}
	}
}

// latest returns when keeps are given up that have no answer. The leases then have a third of their TTL left, in which
// each is renewed by itself: the user may not be permitted to send keeps any more.
func (x *session) latest() time.Time { return x.renewal.Until().Add(-x.known / 3) }

// schedule is called with mu held, as are the following.
func (x *session) schedule() {
	x.sessions.c.alarms.Set(&x.alarm, lease.Earlier(x.latest(), x.renewal.Due()))
}

// send sends a keep.
func (x *session) send() {
	sender := x.sessions.c.sender
	to := sender.RouteIn(x.kind.shard, messages.OpKeep, x.key, x.renewal.Attempts())
	id := sender.Send(to, request.Message{Payload: x.payload}, x.answered)
	x.renewal.Sent(id, clock.Now(), nil)
	x.schedule()
}

// close sends no more keeps. Leases that are in the session leave it with their next extension.
func (x *session) close() {
	x.over = true
	x.sessions.c.alarms.Stop(&x.alarm)
	x.sessions.c.sender.Forget(x.renewal.DropAll()...)
	x.sessions.drop(x)
	x.loseAll()
}

// loseAll prolongs none of the leases any more.
func (x *session) loseAll() {
	for l := range x.leases {
		put(&x.lost, l, x.ends)
	}
	clear(x.leases)
}

// endanger notes that the latest keep had no effect; with nil that it had.
func (x *session) endanger(err error) {
	if (err == nil) != (x.failing == nil) {
		x.changed = x.sessions.c.cfg.jeopardy != nil
	}
	x.failing = err
}

// failure returns why the latest keep had no effect, nil if it had.
func (x *session) failure() error {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.failing
}

// shut closes the session, because nothing of the client is to run any more, or its shard is one no more.
func (x *session) shut() {
	x.mu.Lock()
	defer x.unlock()
	x.close()
}

// reconnected asks at once for what may have been lost with the last connection.
func (x *session) reconnected() {
	x.mu.Lock()
	defer x.unlock()
	if x.begun && !x.over && (x.renewal.HasOpen(0) || x.failing != nil) {
		x.send()
	}
}

// answered receives the answer to a keep.
func (x *session) answered(a *request.Answer) {
	x.mu.Lock()
	defer x.unlock()
	if x.over {
		return
	}
	reply, err := a.Reply()
	switch {
	case a.NotSent != nil:
		x.noEffect(a.ID, a.NotSent)
	case err != nil:
		x.endanger(err)
	case reply == nil:
		x.noEffect(a.ID, request.ErrNoResponders)
	default:
		x.replied(a, reply)
	}
}

func (x *session) replied(a *request.Answer, r *messages.Reply) {
	switch r.GetStatus() {
	case messages.Status_EXTENDED:
		x.kept(a, r)
	case messages.Status_UNAVAILABLE, messages.Status_OVERLOADED:
		x.noEffect(a.ID, refused(messages.OpKeep, "", r))
	case messages.Status_NOT_HELD: // its leases have ended, or left it
		x.close()
	default:
		x.sessions.refuse()
		x.close()
	}
}

// noEffect drops a keep that had no effect. The alarm brings the next one.
func (x *session) noEffect(id uint64, err error) {
	x.renewal.Drop(id)
	x.schedule()
	x.endanger(err)
}

// kept receives that the service has prolonged the session. If it may have lost a lease, each of them is asked for by
// its own extension, and the session prolongs those that are put into it from then on.
func (x *session) kept(a *request.Answer, r *messages.Reply) {
	settled, ok := x.renewal.Granted(a.ID, x.known, x.renewal.Order())
	if !ok {
		return
	}
	x.sessions.c.sender.Forget(settled...)
	x.sessions.prove()
	x.schedule()
	for _, name := range r.GetWanted() {
		put(&x.wanted, name, struct{}{})
	}
	if !x.isWhole(a.Sent, r) { // mutant: CoverageIsForever
		x.loseAll()
		x.losses, x.since = r.GetLosses(), clock.Now()
		x.proved = x.since
	}
	x.ends = x.renewal.Until()
	x.endanger(nil)
}

// isWhole reports whether the leases may be prolonged by a keep that was sent then, because of its answer. A loss shows
// in losses. A lease can also leave the session without one: another process of its owner releases or extends it. That
// shows in held, the number of leases in the session, if it is known which these are: all that may be in it are
// prolonged by it, and none came or left since before the keep was sent. A lease counts from the first extension that
// names the session until the answer to its release. When no answer has shown for one TTL that none has left, the
// session may have lost any, and each lease is asked for by its own extension.
func (x *session) isWhole(sent time.Time, r *messages.Reply) bool {
	switch {
	case x.since.IsZero() || r.GetLosses() != x.losses: // mutant: KeepsAfterALoss
		return false
	case x.users == len(x.leases) && sent.After(x.moved):
		x.proved = sent
		return int(r.GetHeld()) == x.users // mutant: ForeignReleaseInASession
	}
	return sent.Sub(x.proved) < x.known // mutant: NothingProvesTheLeases
}
