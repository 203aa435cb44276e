package audit

import (
	"time"

	"github.com/holdfast-io/holdfast/messages"
	"github.com/holdfast-io/holdfast/messages/journal"
)

const (
	// wallSlack is by how many milliseconds the wall clock that stamps commits may differ from the clock that
	// leases end by.
	wallSlack = 5
	// rememberedFor is for how long an owner of a shard remembers a request at least whose lease has ended.
	rememberedFor = int64(time.Minute / time.Millisecond)
)

// resource is what the journal tells of one resource.
type resource struct {
	// known: no commit that may have changed it was missed.
	known bool
	// remembered: the node knows its last token, so the next one is one above.
	remembered bool

	last  *journal.Grant // nil: none
	state messages.Event_Kind
	// digest is that of the last owner, if a page has no more of it.
	digest uint64
	// reserved is the highest token for ephemeral leases since the last grant, 0 if there is none.
	reserved uint64
	// high is the highest token granted. Tokens up to above may have been granted, or were reserved, when the
	// resource was forgotten or the shard was opened.
	high, above uint64
	// due is the earliest that the lease can expire, by the owner's wall clock; 0: not known.
	due int64
	// changedAt is when it last changed.
	changedAt int64
	// requests are those whose grants the present owner has to remember.
	requests map[request]granted
}

// request names a request of one resource.
type request struct{ owner, id string }

// granted is a grant to a request.
type granted struct {
	token uint64
	// at is when it last changed: when its lease ended, if it has.
	at int64
	// mine: that was in the time of the present owner.
	mine bool
}

func (r *resource) held() bool { return r.state == messages.Event_ACQUIRED }

// top is the highest token that was granted or reserved.
func (r *resource) top() uint64 { return max(r.last.GetToken(), r.reserved) }

// request is that of the last grant, as far as a new owner of the shard knows it.
func (r *resource) request() request { return request{r.last.GetOwner(), r.last.GetRequestId()} }

// opened notes that another owner goes on with the resource. Its lease begins anew, and of the requests it knows
// that of the last grant.
func (r *resource) opened(c *journal.Commit) {
	r.above = max(r.above, r.top())
	r.due = c.GetAtMs() + int64(r.last.GetTtlMs())
	r.requests = map[request]granted{r.request(): {r.last.GetToken(), r.changedAt, false}}
}

func (r *resource) reserve(m *journal.Change, wrong func(string, ...any)) {
	least := r.above
	if r.known {
		least = max(least, r.top())
	}
	if r.known && r.held() || m.GetReserved() <= least {
		wrong("reserved up to %d where token %d stands (%s), and up to %d may have been granted",
			m.GetReserved(), r.last.GetToken(), r.state, least)
	}
	r.reserved = m.GetReserved()
}

// acquire takes in a grant. whole: no record of the journal was missed.
func (r *resource) acquire(g *journal.Grant, c *journal.Commit, whole bool, wrong func(string, ...any)) {
	token, last := g.GetToken(), r.last.GetToken()
	switch least := max(r.high, r.above); {
	case r.known && r.held():
		wrong("token %d is granted to %s while token %d of %s is held", token, g.GetOwner(), last, r.last.GetOwner())
	case token <= least:
		wrong("token %d is granted behind token %d", token, least)
	case r.known && r.remembered && r.reserved == 0 && token != last+1:
		wrong("token %d is granted behind token %d, which is remembered", token, last)
	}
	r.again(g, c, whole, wrong)
	r.high, r.reserved = max(r.high, token), 0
	r.state, r.due = messages.Event_ACQUIRED, g.GetAcquiredAtMs()+int64(g.GetTtlMs())
	r.set(g, c)
}

// again checks that the request was not granted before. An owner remembers what ended in its own time, and the
// last grant of the owner before it. A whole journal is shorter than its memory.
func (r *resource) again(g *journal.Grant, c *journal.Commit, whole bool, wrong func(string, ...any)) {
	id := request{g.GetOwner(), g.GetRequestId()}
	if id.id == "" {
		return
	}
	if before, ok := r.requests[id]; ok && (whole || before.mine && c.GetAtMs()-before.at < rememberedFor) {
		wrong("the request was granted before, and its lease had ended: token %d, and now token %d, to %s, id %q",
			before.token, g.GetToken(), id.owner, id.id)
	}
	r.remember(g, c)
}

// remember notes a request that the present owner has to remember.
func (r *resource) remember(g *journal.Grant, c *journal.Commit) {
	if r.requests == nil {
		r.requests = make(map[request]granted)
	}
	r.requests[request{g.GetOwner(), g.GetRequestId()}] = granted{g.GetToken(), c.GetAtMs(), true}
}

// follow takes in a change that needs a lease: one that extends or ends it.
func (r *resource) follow(m *journal.Change, c *journal.Commit, wrong func(string, ...any)) {
	g := m.GetGrant()
	switch {
	case !r.known:
	case !r.held():
		wrong("%s of token %d, which is %s", m.GetKind(), g.GetToken(), r.state)
	case g.GetToken() != r.last.GetToken() || g.GetOwner() != r.last.GetOwner() || g.GetRequestId() != r.last.GetRequestId():
		wrong("%s of token %d of %s where token %d of %s is held", m.GetKind(),
			g.GetToken(), g.GetOwner(), r.last.GetToken(), r.last.GetOwner())
	case m.GetKind() == messages.Event_EXPIRED && r.due != 0 && c.GetAtMs() < r.due-wallSlack:
		wrong("token %d expires at %d, %d ms before its time", g.GetToken(), c.GetAtMs(), r.due-c.GetAtMs())
	}
	r.state = m.GetKind()
	if m.GetKind() == messages.Event_EXTENDED {
		r.state, r.due = messages.Event_ACQUIRED, 0 // when it was extended is not recorded
	} else {
		r.remember(g, c)
	}
	r.set(g, c)
}

func (r *resource) set(g *journal.Grant, c *journal.Commit) {
	r.last, r.digest, r.changedAt = g, 0, c.GetAtMs()
	r.known, r.remembered = true, true
}
