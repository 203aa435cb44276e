package holdfast

import (
	"math"
	"time"

	"github.com/holdfast-io/holdfast/messages"
)

// Token is a fencing token: it counts the grants of one resource and only grows. Printed it has 15
// digits, so that text order is numeric order. The zero Token is none.
type Token = messages.Token

// Claim is what a holder shows to the protected resource: the name of the lock and its token.
type Claim = messages.Claim

// Lease is what the service shows of a lease. Durations are as of the answer.
type Lease struct {
	Resource string
	Owner    string
	// Token identifies the lease. Tokens is how many tokens it has, from Token on, see [Token.Last]; 0: one.
	Token  Token
	Tokens uint32
	// Fence is what the holder shows to the protected resource. It is the token of an exclusive lease; shared leases
	// that are held at the same time have it in common.
	Fence Token
	// Limit is how many permits may be held while a shared lease is, and Slots are the numbers of those that it has, in
	// rising order. 0 and nil: the lease is exclusive.
	Limit uint32
	Slots []int
	TTL   time.Duration
	// Remaining is until the lease runs out.
	Remaining time.Duration
	// AcquiredAt is by the clock of the node that granted it, for people.
	AcquiredAt time.Time
	// Ephemeral leases end when their shard moves to another node.
	Ephemeral bool
	Metadata  map[string]string
	// Session is the label of the session that the lease is in; empty: it is in none.
	Session string
	// Tenant is the account whose resource it is, as [Client.Watch] shows it. It is empty for a resource of no tenant,
	// and in answers.
	Tenant string
	// Identity is who acquired the lease, as NATS has verified it; empty: the deployment did not verify owners.
	Identity string
}

func newLease(l *messages.Lease) *Lease {
	lease := &Lease{
		Resource:  l.GetResource(),
		Owner:     l.GetOwner(),
		Token:     Token(l.GetToken()),
		Tokens:    l.GetTokens(),
		Fence:     fenceOf(l),
		Limit:     l.GetLimit(),
		Slots:     slotsOf(l),
		TTL:       millis(l.GetTtlMs()),
		Remaining: millis(l.GetRemainingMs()),
		Ephemeral: l.GetDurability() == messages.Durability_EPHEMERAL,
		Metadata:  l.GetMetadata(),
		Session:   l.GetSession(),
		Tenant:    l.GetTenant(),
		Identity:  l.GetIdentity(),
	}
	if at := l.GetAcquiredAtMs(); at != 0 {
		lease.AcquiredAt = time.UnixMilli(at)
	}
	return lease
}

// fenceOf returns the token that the holder of a lease shows to the protected resource.
func fenceOf(l *messages.Lease) Token {
	if fence, err := messages.ParseToken(l.GetFence()); err == nil {
		return fence
	}
	return Token(l.GetToken())
}

func slotsOf(l *messages.Lease) (slots []int) {
	for _, s := range l.GetSlots() {
		slots = append(slots, int(s))
	}
	return slots
}

// holder is an owner on a resource, who may have several leases of it.
type holder struct{ resource, owner string }

// lockKey says which locks may share a lease: those of one owner on one resource and of one kind.
type lockKey struct {
	holder
	kind kind
}

// anyLimit is the highest limit: that of a lock that tolerates all others that are shared.
const anyLimit = math.MaxUint32

// kind is what a lease is to those that may be held beside it. The zero kind is exclusive.
type kind struct{ limit, permits uint32 }

// readers is the kind of a lease that is [Shared].
var readers = kind{limit: anyLimit, permits: 1}

// kindOf returns the kind of a lease.
func kindOf(l *messages.Lease) kind {
	return kind{limit: l.GetLimit(), permits: uint32(len(l.GetSlots()))}
}

// leaseID identifies a lease.
type leaseID struct {
	resource string
	token    Token
}

func idOf(l *messages.Lease) leaseID { return leaseID{l.GetResource(), Token(l.GetToken())} }

func millis(ms uint32) time.Duration { return time.Duration(ms) * time.Millisecond }

// inMillis returns d in whole milliseconds, rounded up so that a short wait stays one. What does not
// fit the wire breaks the contract's rule, whatever it is.
func inMillis(d time.Duration) uint32 {
	ms := (d + time.Millisecond - 1) / time.Millisecond
	if d < 0 || ms > 1<<32-1 {
		return 1<<32 - 1
	}
	return uint32(ms)
}

// put puts an entry into a map, which may be nil.
func put[K comparable, V any](m *map[K]V, k K, v V) {
	if *m == nil {
		*m = make(map[K]V)
	}
	(*m)[k] = v
}
