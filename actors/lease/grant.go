package lease

import (
	"github.com/holdfast-io/holdfast/messages"
	"github.com/holdfast-io/holdfast/messages/journal"
)

// grant gives permits to r, under the next token.
func (t *turn) grant(r *messages.AcquireRequest, to messages.ReplyTo, waited bool) {
	n := blockOf(r.GetTokens())
	if refusal := t.refusedTokens(n); refusal != nil {
		t.out.Answers = append(t.out.Answers, Answer{To: to, Reply: refusal, Waited: waited})
		return
	}
	t.blocks.take(t.now.Instant, n)
	if r.GetDurability() == messages.Durability_EPHEMERAL {
		t.reserve(t.image.Token() + n)
	}
	t.past.keepLast(t.now.Instant, t.image.Last())
	g := &journal.Grant{
		Resource:     t.resource,
		Owner:        r.GetOwner(),
		Token:        uint64(t.image.Token() + 1), // mutant: TokenReused, TokenLeftOut, CommitIsNotChecked
		TtlMs:        r.GetTtlMs(),
		AcquiredAtMs: t.now.UnixMillis,
		Durability:   r.GetDurability(),
		Metadata:     r.GetMetadata(),
		RequestId:    r.GetRequestId(),
		SecretHash:   r.GetSecretHash(),
		DelayMs:      r.GetDelayMs(),
		Confirm:      r.GetConfirm(),
		Identity:     to.Origin.Identity,
		MinHoldMs:    r.GetMinHoldMs(),
	}
	if r.GetTokens() > 1 {
		g.Tokens = r.GetTokens()
	}
	if r.GetLimit() > 1 {
		g.Limit, g.Slots, g.Phase = r.GetLimit(), t.image.freeSlots(permitsOf(r)), t.image.phase(g.GetToken())
	}
	if r.GetSession() != "" {
		x := t.sessions.enter(t.now.Instant, r.GetSession(), r.GetTtlMs(), r.GetSecretHash())
		g.Session, g.TtlMs = x.Key[:], x.ttl
	}
	t.apply(t.now.Instant, nil, &journal.Change{Kind: messages.Event_ACQUIRED, Grant: g})
	inDoubt := waited || to.Batched
	if inDoubt {
		t.unacknowledged.add(messages.Token(g.GetToken()))
	}
	t.out.Answers = append(t.out.Answers, Answer{
		To: to, Reply: t.replyLease(messages.Status_GRANTED, t.image.Last()), InDoubt: inDoubt, Waited: waited,
	})
}

// reservation is how many tokens are set aside for ephemeral leases by one record. A change
// of owner may leave that number of tokens out.
const reservation = 1000

// reserve makes sure that the record says that an ephemeral lease may have this token, so that no
// later owner issues it again.
func (t *turn) reserve(token messages.Token) {
	if token <= t.image.Reserved {
		return
	}
	t.image.Reserved = min(token+reservation-1, messages.MaxToken)
	t.out.Changes = append(t.out.Changes, &journal.Change{Resource: t.resource, Reserved: uint64(t.image.Reserved)})
}

// serve grants the waiting requests that fit, in their order, until one does not.
func (t *turn) serve() {
	for {
		w := t.queue.first()
		if w == nil {
			return
		}
		request, from := w.request, w.from
		_, over, _ := t.past.recallAcquire(&t.image, request) // reentrant, it had shared a lease
		if !over && (!fits(&t.image, request) || isFull(t.name(), &t.image) != "") {
			return
		}
		t.queue.pop()
		if over {
			t.answerWaiter(from, t.over(request))
		} else if refusal := t.refusedSession(request.GetSession(), request.GetSecretHash()); refusal != nil {
			t.answerWaiter(from, refusal)
		} else {
			t.grant(request, from, true)
		}
	}
}

// finish lets a lease end, and grants to waiting requests what it leaves.
func (t *turn) finish(h Lease, kind messages.Event_Kind, reason string) {
	t.end(h, kind, reason)
	t.serve()
}
