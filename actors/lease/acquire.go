package lease

import (
	"cmp"
	"fmt"

	"github.com/holdfast-io/holdfast/messages"
	"github.com/holdfast-io/holdfast/messages/journal"
)

func (s *State) acquire(now Time, e Acquire, o *Outcome) {
	r := e.Request
	who := requester(r)
	s.hear(now, r)
	granted, isRepeated := s.grantedTo(r.GetOwner(), r.GetRequestId())
	if isRepeated && !who.owns(granted.Grant) {
		o.answer(e.From, s.notOwner(now))
		return
	}
	if !isRepeated {
		if over := s.over(now, r); over != nil {
			o.answer(e.From, over)
			return
		}
	}
	own, isHolder := s.reentered(who, r)
	if isRepeated && (!isHolder || otherSession(own, r) != nil) {
		s.confirm(now, e.From, messages.Status_GRANTED, granted, o)
		return
	}
	switch refusal := s.refusedSession(now, r.GetSession(), r.GetSecretHash()); {
	case refusal != nil:
		o.answer(e.From, refusal)
	case isHolder:
		s.queue.take(who, r.GetRequestId()) // else it would be granted once more
		s.reenter(now, e, own, o)
		s.serve(now, o) // it may have been the head
	case s.takesBack(who, e):
		s.takeBack(now, who, e, o)
	case s.Waiting() == 0 && s.fits(r):
		s.enter(now, e, o)
	default:
		s.wait(now, who, e, o)
	}
}

// enter grants a request that fits, unless a limit of the resource or of the node is reached.
func (s *State) enter(now Time, e Acquire, o *Outcome) {
	if why := cmp.Or(e.NoGrant, s.isFull()); why != "" {
		o.answer(e.From, s.overloaded(why))
		return
	}
	s.grant(now, e.Request, e.From, false, o)
}

// fits reports whether the request may hold beside those that do.
func (s *State) fits(r *messages.AcquireRequest) bool {
	return s.image.Fits(r.GetLimit(), permitsOf(r))
}

const (
	// mostHolders is how many leases may be held on one resource, or hold it back.
	mostHolders = 1000
	// mostWeight is how many bytes they may take when they are stored. All of them may end and as many be granted in one
	// step, and all of that goes into one commit, a message of at most 1 MB.
	mostWeight = 480 << 10
)

// isFull says which limit of the resource keeps another lease out; empty: none.
func (s *State) isFull() string { return s.fullOf(s.image.Leases(), s.image.Weight()) }

// fullOf is [State.isFull] if there were n leases of this weight.
func (s *State) fullOf(n, weight int) string {
	switch {
	case n >= mostHolders:
		return fmt.Sprintf("resource %q: %d leases are held, the most that may; try later", s.name(), n)
	case n > 0 && weight >= mostWeight:
		return fmt.Sprintf("resource %q: %d leases with their owners and metadata take %d bytes, the most that may; try later",
			s.name(), n, mostWeight)
	}
	return ""
}

// granted returns the present lease that was granted to this request of the caller, if there is one.
func (s *State) granted(who caller, id string) (h Lease, ok bool) {
	h, ok = s.grantedTo(who.owner, id)
	return h, ok && who.owns(h.Grant)
}

// grantedTo returns the present lease that was granted to the request of this owner and id, whatever its secret.
func (s *State) grantedTo(owner, id string) (h Lease, ok bool) {
	if id == "" {
		return Lease{}, false
	}
	for h := range s.image.Holdings() {
		if h.Grant.GetRequestId() == id && h.Grant.GetOwner() == owner {
			return h, true
		}
	}
	return Lease{}, false
}

// reentered returns the lease that a reentrant request gets again: the latest of its owner with the same limit and as
// many permits.
func (s *State) reentered(who caller, r *messages.AcquireRequest) (own Lease, ok bool) {
	if !r.GetReentrant() {
		return Lease{}, false
	}
	for h := range s.image.Holdings() {
		same := limitOf(h.Grant.GetLimit()) == limitOf(r.GetLimit()) && permitsHeld(h.Grant) == permitsOf(r)
		if same && who.owns(h.Grant) {
			own, ok = h, true
		}
	}
	return own, ok
}

// reenter answers a reentrant request with the lease that its owner has. A lease of a session stays as it is, another one
// is prolonged.
func (s *State) reenter(now Time, e Acquire, own Lease, o *Outcome) {
	if err := otherSession(own, e.Request); err != nil {
		o.answer(e.From, s.invalid(err))
		return
	}
	s.share(own, e.Request)
	if len(own.Grant.GetSession()) == 0 {
		own = s.prolong(now, own, e.Request.GetTtlMs(), o)
	}
	s.confirm(now, e.From, messages.Status_GRANTED, own, o)
}

// share notes that a lease answers a reentrant request, which ends with it.
func (s *State) share(h Lease, r *messages.AcquireRequest) {
	if id := r.GetRequestId(); id != "" && id != h.Grant.GetRequestId() {
		s.past.share(h.Grant, r)
	}
}

// grant gives permits to r, under the next token.
func (s *State) grant(now Time, r *messages.AcquireRequest, to messages.ReplyTo, waited bool, o *Outcome) {
	if s.image.Token() >= messages.MaxToken {
		o.answer(to, s.exhausted())
		return
	}
	if r.GetDurability() == messages.Durability_EPHEMERAL {
		s.reserve(s.image.Token()+1, o)
	}
	s.keepLast(now)
	g := &journal.Grant{
		Resource:     s.resource,
		Owner:        r.GetOwner(),
		Token:        uint64(s.image.Token() + 1),
		TtlMs:        r.GetTtlMs(),
		AcquiredAtMs: now.UnixMillis,
		Durability:   r.GetDurability(),
		Metadata:     r.GetMetadata(),
		RequestId:    r.GetRequestId(),
		SecretHash:   r.GetSecretHash(),
		DelayMs:      r.GetDelayMs(),
		Confirm:      r.GetConfirm(),
		Identity:     to.Identity,
	}
	if isShared(r.GetLimit()) {
		g.Limit, g.Slots, g.Phase = r.GetLimit(), s.image.freeSlots(permitsOf(r)), s.image.phase(g.GetToken())
	}
	if r.GetSession() != "" {
		x := s.sessions.enter(now.Instant, r.GetSession(), r.GetTtlMs(), r.GetSecretHash())
		g.Session, g.TtlMs = x.Key[:], x.ttl
	}
	s.apply(now, nil, &journal.Change{Kind: messages.Event_ACQUIRED, Grant: g}, o)
	inDoubt := waited || to.Batched
	if inDoubt {
		s.doubted = append(s.doubted, messages.Token(g.GetToken()))
	}
	o.Answers = append(o.Answers, Answer{
		To: to, Reply: s.replyLease(now, messages.Status_GRANTED, s.image.Last()), InDoubt: inDoubt,
	})
}

// keepLast keeps the end of the last grant remembered when the next one takes its place in the image.
func (s *State) keepLast(now Time) {
	last := s.image.Last()
	if last.Grant == nil || last.isHeld() || s.past.remembersSince(s.ended) || s.past.remembers(last.Grant) {
		return
	}
	s.past.End(now.Instant, last.Grant, last.How) // it ended before the shard was opened
}

// confirm answers a holder. A request from it shows that it knows of its lease, which is no longer in doubt.
func (s *State) confirm(now Time, to messages.ReplyTo, status messages.Status, h Lease, o *Outcome) {
	s.believe(h.token())
	r := s.replyLease(now, status, h)
	if r.Order = h.Grant.GetExtendOrder(); status == messages.Status_UPDATED {
		r.Order = h.Grant.GetSetOrder()
	}
	o.answer(to, r)
}

// reservation is how many tokens are set aside for ephemeral leases by one record. A change
// of owner may leave that number of tokens out.
const reservation = 1000

// reserve makes sure that the record says that an ephemeral lease may have this token, so that no
// later owner issues it again.
func (s *State) reserve(token messages.Token, o *Outcome) {
	if token <= s.image.Reserved {
		return
	}
	s.image.Reserved = min(token+reservation-1, messages.MaxToken)
	o.Changes = append(o.Changes, &journal.Change{Resource: s.resource, Reserved: uint64(s.image.Reserved)})
}

func (s *State) overloaded(why string) *messages.Reply {
	r := s.reply(messages.Status_OVERLOADED)
	r.Error = why
	return r
}

func (s *State) exhausted() *messages.Reply {
	r := s.reply(messages.Status_EXHAUSTED)
	r.Error = fmt.Sprintf("resource %q: its tokens have reached %d, the last there is; use another name",
		s.name(), messages.MaxToken)
	return r
}
