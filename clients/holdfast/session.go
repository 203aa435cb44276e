package holdfast

import (
	"context"
	"crypto/rand"
	"errors"
	"maps"
	"slices"
	"sync"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/holdfast-io/holdfast/clients/holdfast/internal/lease"
	"github.com/holdfast-io/holdfast/clients/internal/alarm"
	"github.com/holdfast-io/holdfast/clients/internal/clock"
	"github.com/holdfast-io/holdfast/clients/request"
	"github.com/holdfast-io/holdfast/messages"
)

// trials is how many keeps are sent before the first answer to one of this client: to the owner of the shard, and to any
// node. A user who may not send them gets an error of the connection with each.
const trials = 2

// session is a session of one shard. Extensions take leases into it. Its keeps prolong those of them that are in its
// coverage; the others are renewed one by one. No goroutine belongs to it: its alarm and answers drive it.
type session struct {
	sessions *sessions
	kind     sessionKind
	// id is used once, for as long as the session lasts; key is the id in a subject, label what answers show of it.
	id, key, label string
	payload        []byte
	// known is how long its leases are known to last from the sending of a keep.
	known time.Duration

	mu sync.Mutex
	// users counts the handles whose leases may be in the session, moved is when one of them last came into it or left it.
	users int
	moved time.Time
	// begun: a lease is in the session, so keeps are sent. over: no more.
	begun, over bool
	// forsaken: a lease may be in it that has to run out.
	forsaken bool
	// failing is why the latest keep had no effect; nil: it had.
	failing error
	renewal lease.Renewal
	// coverage is nil before the first answer to a keep. losses is what the latest answer has shown.
	coverage *coverage
	losses   uint64
	// proved is a moment since which the coverage has been whole.
	proved time.Time
	// trial is the number of the attempt to end another session; 0: there was none.
	trial uint64
	alarm alarm.Alarm // calls Wake
}

// newSession returns a session that no lease is in.
func newSession(s *sessions, t sessionKind) *session {
	id := rand.Text()
	key, _ := messages.EncodeKey(id) // it is valid
	x := &session{
		sessions: s, kind: t, id: id, key: key, label: messages.SessionLabel(messages.SessionHash(id)),
		payload: request.Encode(s.keep(t)), known: min(t.ttl, s.c.cfg.most(acquireOptions{})),
	}
	x.alarm.Waker = x
	return x
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
		x.close() // it has no alarm that would
	}
}

// entered takes in that an extension sent at a moment has put a lease into the session. It returns the coverage that the
// lease is in from now on, nil if there is none.
func (x *session) entered(h *handle, sent time.Time) *coverage {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.over {
		return nil
	}
	if !x.begun {
		x.begun = true
		x.renewal = lease.NewRenewal(lease.New(sent, x.known, x.known), sent, x.sessions.c.begun)
		x.renewal.Above(0) // all keeps ask for the same, so a late one shortens nothing
		x.send()
	}
	x.moved = clock.Now()
	if x.coverage == nil || !sent.After(x.coverage.began) {
		return nil
	}
	x.coverage.handles[h] = struct{}{}
	return x.coverage
}

// end returns when the leases of the session are over at the service, too, unless a keep was delayed on its way.
func (x *session) end() time.Time {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.renewal.End()
}

// forsake has the session run out, because a lease may be in it that is not wanted and could not be given back. Its other
// leases move to another session. It may be called with the mutex of a handle held.
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
	defer x.mu.Unlock()
	now := clock.Now()
	switch {
	case x.over:
	case x.forsaken, x.users == 0:
		x.close()
	case !now.Before(x.latest()):
		x.sessions.proven.Store(false)
		x.close()
	case !x.sessions.proven.Load() && x.renewal.Attempts() >= trials:
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
	x.tryEnd()
	to := sender.RouteIn(x.kind.shard, messages.OpKeep, x.key, x.renewal.Attempts())
	id := sender.Send(to, request.Message{Payload: x.payload}, x.answered)
	x.renewal.Sent(id, clock.Now(), nil)
	x.schedule()
}

// tryEnd ends a session that there is not, as long as it is not known whether the user may end sessions. It does so before
// the first answer to a keep.
func (x *session) tryEnd() {
	sender := x.sessions.c.sender
	if x.trial > 0 {
		sender.Forget(x.trial)
	}
	if x.coverage == nil && !x.sessions.ends.Load() {
		to := sender.RouteIn(x.kind.shard, messages.OpEnd, rand.Text(), 0)
		x.trial = sender.Send(to, request.Message{Payload: request.Encode(new(messages.EndRequest))}, x.sessions.ended)
	}
}

// close sends no more keeps. Leases that are in the session leave it with their next extension.
func (x *session) close() {
	x.over = true
	x.sessions.c.alarms.Stop(&x.alarm)
	x.sessions.c.sender.Forget(append(x.renewal.DropAll(), x.trial)...)
	x.sessions.drop(x)
	x.cover(nil)
}

// cover has another coverage in the place of the present one.
func (x *session) cover(v *coverage) {
	former := x.coverage
	x.coverage = v
	x.tell(former, (*handle).uncovered)
}

// tell calls one of the methods of each handle of a coverage, if there is one, without the mutex.
func (x *session) tell(v *coverage, call func(*handle, *coverage)) {
	if v == nil {
		return
	}
	covered := slices.Collect(maps.Keys(v.handles))
	x.mu.Unlock()
	defer x.mu.Lock()
	for _, h := range covered {
		call(h, v)
	}
}

// endanger tells the application, once, that the keeps have begun to fail; with nil that its leases are safe.
func (x *session) endanger(err error) {
	changed := (err == nil) != (x.failing == nil)
	x.failing = err
	if changed && x.sessions.c.cfg.jeopardy != nil {
		x.tell(x.coverage, (*handle).keepsFail)
	}
}

// failure returns why the latest keep had no effect, nil if it had.
func (x *session) failure() error {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.failing
}

// releaseAll releases the leases of the session by its end, if they are several and all of them are in the coverage.
func (x *session) releaseAll(ctx context.Context) error {
	together, alone := x.surrender()
	return errors.Join(x.endAll(ctx, together), each(alone, func(r *release) error { return r.run(ctx) }))
}

// endAll ends the session with these leases.
func (x *session) endAll(ctx context.Context, leases []*release) error {
	if len(leases) == 0 {
		return nil
	}
	c := x.sessions.c
	chore := c.chores
	chore.timeout = c.cfg.timeout
	a, err := chore.run(ctx, "", request.Request{Op: messages.OpEnd, Key: x.key, InShard: &x.kind.shard, Waits: true, Message: x.ending})
	if err == nil {
		reply, _ := a.Reply()
		if reply.GetStatus() != messages.Status_RELEASED {
			return each(leases, func(r *release) error { // each says what became of it
				r.ended = !a.Alone
				return r.run(ctx)
			})
		}
	}
	for _, r := range leases {
		r.over()
	}
	return err
}

// surrender closes the session if its end may be asked for, and returns the releases of its leases: of those that end with
// it, and of those that have left it meanwhile.
func (x *session) surrender() (together, alone []*release) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.over || x.coverage == nil || !x.sessions.ends.Load() {
		return nil, nil
	}
	v := x.coverage
	if n := len(v.handles); n < 2 || x.users > n { // the end would release locks that are still held here
		return nil, nil
	}
	x.over = true // no other lease enters
	x.tell(v, func(h *handle, _ *coverage) {
		switch r, is := h.surrender(v); {
		case r == nil:
		case is:
			together = append(together, r)
		default:
			alone = append(alone, r)
		}
	})
	x.close()
	return together, alone
}

// shut closes the session, when nothing of the client is to run any more.
func (x *session) shut() {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.close()
}

func (x *session) ending() proto.Message {
	r := new(messages.EndRequest)
	if x.kind.secret {
		r.Secret = x.sessions.c.cfg.secret.value
	}
	return r
}

// reconnected asks at once for what may have been lost with the last connection.
func (x *session) reconnected() {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.begun && !x.over && (x.renewal.HasOpen(0) || x.failing != nil) {
		x.send()
	}
}

// answered takes the answer to a keep in.
func (x *session) answered(a *request.Answer) {
	x.mu.Lock()
	defer x.mu.Unlock()
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

// kept takes in that the service has prolonged the session. If it may have lost a lease, each of them is asked for by its
// own extension, and those that are held come into the next coverage.
func (x *session) kept(a *request.Answer, r *messages.Reply) {
	settled, ok := x.renewal.Granted(a.ID, x.known, x.renewal.Order())
	if !ok {
		return
	}
	x.sessions.c.sender.Forget(settled...)
	x.sessions.prove()
	x.schedule()
	if x.isWhole(a.Sent, r) {
		x.coverage.until = x.renewal.Until()
	} else {
		x.losses, x.proved = r.GetLosses(), clock.Now()
		x.cover(&coverage{session: x, began: x.proved, until: x.renewal.Until(), handles: make(map[*handle]struct{})})
	}
	x.endanger(nil)
}

// isWhole reports whether the leases of the coverage may be prolonged by a keep that was sent then, because of its answer.
// A loss shows in losses. A lease can also leave the session without one: another process of its owner releases or extends
// it. That shows in held, the number of leases in the session, if it can be told which these are: all that may be in the
// session are in the coverage, and none came or left since before the keep was sent. A lease counts from the first
// extension that names the session until the answer to its release. When no answer has shown for one TTL that the
// coverage is whole, it is over too, and each lease is asked for by its own extension.
func (x *session) isWhole(sent time.Time, r *messages.Reply) bool {
	switch {
	case x.coverage == nil || r.GetLosses() != x.losses:
		return false
	case x.users == len(x.coverage.handles) && sent.After(x.moved):
		x.proved = sent
		return int(r.GetHeld()) == x.users
	}
	return sent.Sub(x.proved) < x.known
}
