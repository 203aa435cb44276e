package lease

import (
	"crypto/sha256"
	"encoding/binary"
	"math"
	"slices"
	"strconv"
	"time"

	"github.com/holdfast-io/holdfast/messages"
	"github.com/holdfast-io/holdfast/messages/journal"
)

const (
	// rememberFor is how long an ended request is remembered at least.
	rememberFor = time.Minute
	// keepEnded is how many ended requests stay remembered after that, maxEnded how many are remembered
	// in all. The latter is above what a shard can end within rememberFor.
	keepEnded, maxEnded = 1 << 14, 1 << 20
	// generations is into how many parts each of these three is divided: a part is forgotten as a whole.
	generations = 4
	// maxSharers is how many reentrant requests of one lease are remembered.
	maxSharers = 16
)

// EndedRequests remembers the acquire requests of a shard that may not be granted any more, so that a
// late copy of one takes no lock: those whose lease has ended, and those that were withdrawn.
//
// A request is remembered for at least a minute after its end, and beyond that while there are no more
// than 16 384. At 1 048 576 the oldest are forgotten, whatever their age. Of the reentrant requests that
// a present lease has answered, the latest 16 are remembered. The states of one shard share one value,
// on one goroutine. It is lost with its owner.
type EndedRequests struct {
	keep, limit int          // keepEnded and maxEnded
	parts       []*endedPart // oldest first; the last one takes what is new
	count       int
	// sharers are the reentrant requests that a present lease has answered besides the one of its grant.
	sharers map[leaseKey][]requestKey
}

// leaseKey names a lease.
type leaseKey struct {
	resource string
	token    uint64
}

// endedPart holds the requests that ended between two instants.
type endedPart struct {
	requests    map[requestKey]ended
	first, last Instant
}

// requestKey is a digest of the resource, the owner, the request id and the hash of the secret.
type requestKey [16]byte

// ended is how a request has ended: the token and the end of its lease, or neither if it was withdrawn.
type ended struct {
	token messages.Token
	how   messages.Event_Kind
	// behind is how far the fence is behind the token: a phase is as long as that. A longer one is cut off.
	behind uint32
}

func newEnded(g *journal.Grant, how messages.Event_Kind) ended {
	token := messages.Token(g.GetToken())
	return ended{token: token, how: how, behind: uint32(min(token-g.Fence(), math.MaxUint32))}
}

// granted reports whether the request had a lease; else it was withdrawn.
func (e ended) granted() bool { return e.how != messages.Event_KIND_UNSPECIFIED }

// status is what a request is answered whose lease has ended.
func (e ended) status() messages.Status {
	if e.how == messages.Event_RELEASED {
		return messages.Status_RELEASED
	}
	return messages.Status_EXPIRED
}

// fence returns the fence of the lease.
func (e ended) fence() messages.Token { return e.token - messages.Token(e.behind) }

// NewEndedRequests returns a memory that knows of no request.
func NewEndedRequests() *EndedRequests {
	return &EndedRequests{keep: keepEnded, limit: maxEnded, sharers: make(map[leaseKey][]requestKey)}
}

// End notes that the lease of a grant has ended, and with it the request of the grant and those that
// shared the lease. A shared lease is known by its token, too: the image of its resource keeps the last grant only.
func (m *EndedRequests) End(now Instant, g *journal.Grant, how messages.Event_Kind) {
	e := newEnded(g, how)
	if id := g.GetRequestId(); id != "" {
		m.add(now, keyOfGrant(g, id), e)
	}
	if g.GetLimit() > 1 {
		m.add(now, keyOfGrant(g, tokenID(g.GetToken())), e)
		if g.GetFormer() != 0 {
			m.add(now, keyOfGrant(g, tokenID(g.GetFormer())), e)
		}
	}
	if len(m.sharers) > 0 {
		m.endSharers(now, leaseOf(g), e)
	}
}

// remembers reports whether the end of a lease is remembered, or it has no name by which it could be.
func (m *EndedRequests) remembers(g *journal.Grant) (ok bool) {
	id := g.GetRequestId()
	if id == "" && g.GetLimit() > 1 {
		id = tokenID(g.GetToken())
	}
	if id != "" {
		_, ok = m.find(keyOfGrant(g, id))
	}
	return ok || id == ""
}

func (m *EndedRequests) endSharers(now Instant, lease leaseKey, e ended) {
	for _, key := range m.sharers[lease] {
		if _, known := m.find(key); !known { // else it was granted a lease of its own, too
			m.add(now, key, e)
		}
	}
	delete(m.sharers, lease)
}

// share notes that the present lease has answered a reentrant request.
func (m *EndedRequests) share(g *journal.Grant, r *messages.AcquireRequest) {
	key := keyOf(g.GetResource(), caller{r.GetOwner(), r.GetSecretHash()}, r.GetRequestId())
	keys := m.sharers[leaseOf(g)]
	if slices.Contains(keys, key) {
		return
	}
	if len(keys) == maxSharers {
		keys = keys[1:]
	}
	m.sharers[leaseOf(g)] = append(keys, key)
}

// follow notes that a lease has been downgraded: the requests that shared it share what is in its place.
func (m *EndedRequests) follow(before, after *journal.Grant) {
	if keys, ok := m.sharers[leaseOf(before)]; ok {
		delete(m.sharers, leaseOf(before))
		m.sharers[leaseOf(after)] = keys
	}
}

func leaseOf(g *journal.Grant) leaseKey { return leaseKey{g.GetResource(), g.GetToken()} }

// find returns how a request has ended, false if it is not remembered.
func (m *EndedRequests) find(key requestKey) (ended, bool) {
	for i := len(m.parts) - 1; i >= 0; i-- {
		if e, ok := m.parts[i].requests[key]; ok {
			return e, true
		}
	}
	return ended{}, false
}

// remembersSince reports whether everything that ended at the instant or later is certainly remembered.
func (m *EndedRequests) remembersSince(at Instant) bool {
	return len(m.parts) > 0 && m.parts[0].first < at
}

// findToken returns how the shared lease of this token has ended, false if it is not remembered or not the caller's.
func (m *EndedRequests) findToken(resource string, who caller, token uint64) (e ended, ok bool) {
	if e, ok = m.find(keyOf(resource, caller{owner: who.owner}, tokenID(token))); !ok && len(who.hash) > 0 {
		e, ok = m.find(keyOf(resource, who, tokenID(token)))
	}
	return e, ok
}

func (m *EndedRequests) add(now Instant, key requestKey, e ended) {
	p := m.newest(now)
	before := len(p.requests)
	p.requests[key] = e
	p.last = now
	m.count += len(p.requests) - before
	m.forget(now)
}

// newest returns the part for what ends now.
func (m *EndedRequests) newest(now Instant) *endedPart {
	if n := len(m.parts); n > 0 && !m.full(m.parts[n-1], now) {
		return m.parts[n-1]
	}
	p := &endedPart{requests: make(map[requestKey]ended), first: now}
	m.parts = append(m.parts, p)
	return p
}

func (m *EndedRequests) full(p *endedPart, now Instant) bool {
	n := len(p.requests)
	return n >= m.limit/generations || n >= m.keep/generations && now.Sub(p.first) >= rememberFor/generations
}

// forget drops the oldest parts that need not, or cannot, be remembered any more.
func (m *EndedRequests) forget(now Instant) {
	for len(m.parts) > 1 {
		oldest := m.parts[0]
		old := now.Sub(oldest.last) >= rememberFor
		if m.count <= m.keep || !old && m.count <= m.limit {
			return
		}
		m.count -= len(oldest.requests)
		m.parts[0] = nil
		m.parts = m.parts[1:]
	}
}

// keyOf digests what a request is known by. SHA-256, because clients choose all of it.
func keyOf(resource string, who caller, id string) (key requestKey) {
	var buffer [256]byte
	b := buffer[:0]
	for _, part := range []string{resource, who.owner, id} {
		b = binary.AppendUvarint(b, uint64(len(part)))
		b = append(b, part...)
	}
	b = append(b, who.hash...)
	sum := sha256.Sum256(b)
	copy(key[:], sum[:])
	return key
}

// keyOfGrant is the key of a grant's request, or with the id that stands for it of its lease.
func keyOfGrant(g *journal.Grant, id string) requestKey {
	return keyOf(g.GetResource(), caller{g.GetOwner(), g.GetSecretHash()}, id)
}

// tokenID stands for a lease in the place of a request id, as no request has it: ids have no control characters.
func tokenID(token uint64) string { return "\x00" + strconv.FormatUint(token, 10) }
