package journal

import (
	"cmp"
	"time"

	"github.com/holdfast-io/holdfast/messages"
)

// Lease returns the grant in the form that clients see. It rounds remaining down to whole milliseconds,
// between 0 and the TTL, so that a client never assumes more time than it has. The request id is left
// out, and the tenant of the resource is. The metadata and the slots are shared, not copied. The lease of a nil grant
// is nil.
func (g *Grant) Lease(remaining time.Duration) *messages.Lease {
	if g == nil {
		return nil
	}
	_, resource := messages.Unqualify(g.GetResource())
	l := &messages.Lease{
		Resource:     resource,
		Owner:        g.GetOwner(),
		Token:        g.GetToken(),
		Fence:        g.Fence().String(),
		TtlMs:        g.GetTtlMs(),
		RemainingMs:  wholeMillis(remaining, g.GetTtlMs()),
		AcquiredAtMs: g.GetAcquiredAtMs(),
		Durability:   g.GetDurability(),
		Metadata:     g.GetMetadata(),
		Limit:        g.GetLimit(),
		Slots:        g.GetSlots(),
		Identity:     g.GetIdentity(),
		Tokens:       g.GetTokens(),
	}
	if session := g.GetSession(); len(session) > 0 {
		l.Session = messages.SessionLabel(session)
	}
	return l
}

// Fence returns what the holder shows to the protected resource: the token of an exclusive lease, the phase of a
// shared one.
func (g *Grant) Fence() messages.Token {
	return messages.Token(cmp.Or(g.GetPhase(), g.GetToken()))
}

// Last returns the last token of the lease: the highest that its holder may show.
func (g *Grant) Last() messages.Token { return messages.Token(g.GetToken()).Last(g.GetTokens()) }

// Has reports whether the lease has this token.
func (g *Grant) Has(token messages.Token) bool {
	return g != nil && token >= messages.Token(g.GetToken()) && token <= g.Last()
}

// HoldsBack reports whether the resource is held back if the lease is lost.
func (g *Grant) HoldsBack() bool { return g.GetDelayMs() > 0 || g.GetConfirm() }

// grantOverhead estimates the tags, lengths and numbers of a grant.
const grantOverhead = 60

// Weight estimates the stored bytes of the grant from above.
func (g *Grant) Weight() int {
	n := grantOverhead + len(g.GetResource()) + len(g.GetOwner()) + len(g.GetRequestId()) + len(g.GetIdentity()) +
		slotBytes*len(g.GetSlots())
	n += bytesOverhead(g.GetSession()) + bytesOverhead(g.GetSecretHash())
	if g.HoldsBack() {
		n += delayOverhead
	}
	if g.GetLimit() > 0 {
		n += sharedOverhead
	}
	if g.GetExtendOrder() > 0 {
		n += orderBytes
	}
	if g.GetSetOrder() > 0 {
		n += orderBytes
	}
	if g.isNew() {
		n += holdOverhead
	}
	for k, v := range g.GetMetadata() {
		n += 6 + len(k) + len(v)
	}
	return n
}

const (
	// sharedOverhead estimates the limit, the phase and the former token of a shared grant.
	sharedOverhead = 24
	// delayOverhead is the delay and whether its end is to be confirmed.
	delayOverhead = 9
	// holdOverhead estimates the tokens and the shortest hold, and what is left of that when the lease has ended.
	holdOverhead = 20
	// orderBytes is what a number of requests takes at limit, with its tag: it is at most [messages.MaxOrder].
	orderBytes = 10
	// slotBytes is what the number of a slot takes at limit: slots are below a million.
	slotBytes = 3
)

// bytesOverhead is what bytes take, with their tag and length.
func bytesOverhead(b []byte) int {
	if len(b) == 0 {
		return 0
	}
	return 3 + len(b)
}

// wholeMillis clamps before it converts: a Duration can exceed the milliseconds of a uint32.
func wholeMillis(d time.Duration, limit uint32) uint32 {
	return uint32(min(max(d.Milliseconds(), 0), int64(limit)))
}
