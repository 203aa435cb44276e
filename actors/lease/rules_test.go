package lease_test

import (
	"cmp"
	"slices"
	"time"

	"github.com/holdfast-io/holdfast/actors/lease"
	"github.com/holdfast-io/holdfast/messages"
	"github.com/holdfast-io/holdfast/messages/journal"
)

// rules are those by which recorded histories are checked for linearizability, here for one whose
// every instant is known: each answer alone has to be one that the answers before it allow. What is recorded, who
// waits and what is shown of the slots is left to the audit.
type rules struct {
	held  []held // in the order of their grants
	lost  []held // that hold the resource back, by their tokens; they lapse when their delay is over
	last  held   // the last one granted
	how   messages.Event_Kind
	token uint64
	over  map[request]over // requests that ended
	ended map[leaseOf]messages.Event_Kind
}

// held is a lease as its owner knows it.
type held struct {
	owner, id      string
	hash           string // the name of its secret, empty if it has none
	token, former  uint64
	limit, permits uint64 // 1 if it is exclusive
	fence          string
	lapse          lease.Instant
	delay          delay
	// ttl and meta are what the lease has, extends and sets the highest numbers of its extends and sets.
	ttl           time.Duration
	meta          string
	extends, sets uint64
}

// holdsBack reports whether the resource is held back if the lease is lost.
func (h held) holdsBack() bool { return h.delay != delay{} }

// leaseOf names a shared lease that has ended.
type leaseOf struct {
	owner, hash string
	token       uint64
}

// request names a request: its owner, its id, and its secret or none.
type request struct{ owner, id, hash string }

// over is how a request ended, and the token of its lease, if it had one. How a reentrant request ended
// that shared a lease is left to the model.
type over struct {
	how   messages.Status
	token uint64
}

func (o over) is(how messages.Status, token uint64) bool {
	return o.how == how && o.token == token || o.how == messages.Status_STATUS_UNSPECIFIED
}

func newRules(floor messages.Token) *rules {
	return &rules{token: uint64(floor), over: map[request]over{}, ended: map[leaseOf]messages.Event_Kind{}}
}

// passTime ends the leases whose time is over.
func (r *rules) passTime(now lease.Instant) {
	for _, h := range slices.Clone(r.held) {
		if h.lapse <= now {
			r.end(h, messages.Event_EXPIRED)
			r.lose(h, now)
		}
	}
	for _, h := range slices.Clone(r.lost) {
		if h.lapse <= now {
			r.endBack(h)
		}
	}
}

// lose lets a lease that was lost hold the resource back.
func (r *rules) lose(h held, now lease.Instant) {
	if !h.holdsBack() {
		return
	}
	h.lapse = lease.Never
	if h.delay.length > 0 {
		h.lapse = now.Add(h.delay.length)
	}
	r.lost = append(r.lost, h)
	slices.SortFunc(r.lost, func(a, b held) int { return cmp.Compare(a.token, b.token) })
}

// endBack ends what a lost lease holds back.
func (r *rules) endBack(h held) {
	r.lost = slices.DeleteFunc(r.lost, func(x held) bool { return x.token == h.token })
	if h.token == r.last.token {
		r.how = messages.Event_CONFIRMED
	}
}

// takesBack reports whether an operation takes back what its owner alone has lost.
func (r *rules) takesBack(op step) bool {
	return len(r.lost) > 0 && r.fits(op) && op.nogrant == "" && r.token < uint64(messages.MaxToken) &&
		!slices.ContainsFunc(r.lost, func(h held) bool { return !h.isOf(op) || h.delay.confirmed })
}

// findLost returns the lost lease with a token.
func (r *rules) findLost(token uint64) *held {
	for i, h := range r.lost {
		if h.token == token {
			return &r.lost[i]
		}
	}
	return nil
}

// takeOver forgets all that had ended but the last grant.
func (r *rules) takeOver(now lease.Instant) {
	r.passTime(now)
	clear(r.over)
	clear(r.ended)
	for _, h := range r.lost {
		r.remember(h, messages.Event_EXPIRED)
	}
	if r.how != messages.Event_KIND_UNSPECIFIED && r.how != messages.Event_ACQUIRED {
		r.remember(r.last, r.how)
	}
}

// end takes a lease off those that are held.
func (r *rules) end(h held, how messages.Event_Kind) {
	r.held = slices.DeleteFunc(r.held, func(x held) bool { return x.token == h.token })
	if h.token == r.last.token {
		r.how = how
	}
	r.remember(h, how)
}

func (r *rules) remember(h held, how messages.Event_Kind) {
	status := messages.Status_EXPIRED
	if how == messages.Event_RELEASED {
		status = messages.Status_RELEASED
	}
	if h.id != "" {
		r.over[request{h.owner, h.id, h.hash}] = over{status, h.token}
	}
	if h.limit > 1 {
		r.ended[leaseOf{h.owner, h.hash, h.token}], r.ended[leaseOf{h.owner, h.hash, h.former}] = how, how
	}
}

// begin adds a lease, which becomes the last one granted.
func (r *rules) begin(h held) {
	r.held, r.last, r.how, r.token = append(r.held, h), h, messages.Event_ACQUIRED, h.token
}

// find returns the lease that is held under a token.
func (r *rules) find(token uint64) *held {
	for i, h := range r.held {
		if token != 0 && (h.token == token || h.former == token) {
			return &r.held[i]
		}
	}
	return nil
}

// of returns the leases of which the operation's sender is the owner: it has the secret, if there is one.
func (r *rules) of(op step) []held {
	return slices.DeleteFunc(slices.Clone(r.held), func(h held) bool { return !h.isOf(op) })
}

// isOf reports whether the sender of the operation is the owner.
func (h held) isOf(op step) bool { return h.owner == op.who && (h.hash == "" || h.hash == op.secret) }

// same reports whether a lease is of the kind that the operation asks for.
func (h held) same(op step) bool { return h.limit == op.tolerates() && h.permits == op.takes() }

// fits reports whether an operation may hold beside those that do.
func (r *rules) fits(op step) bool {
	sum := op.takes()
	least := op.tolerates()
	for _, h := range r.held {
		sum, least = sum+h.permits, min(least, h.limit)
	}
	return len(r.held) == 0 || sum <= least
}

// granted reports whether the request of the operation has a lease.
func (r *rules) granted(op step) *held {
	for i, h := range r.held {
		if op.id != "" && h.isOf(op) && h.id == op.id {
			return &r.held[i]
		}
	}
	return nil
}

// allow reports whether the operation may have had this answer, and takes the rules over it.
func (r *rules) allow(op step, now lease.Instant, reply *messages.Reply) bool {
	r.passTime(now)
	past, known := r.past(op)
	known = known && op.id != "" && r.granted(op) == nil
	own := request{op.who, op.id, op.secret}
	_, ended := r.over[own]
	ended = ended || op.token == 0 && known && past.token != 0 // the lease had no secret
	withdrawn := op.verb == "release" && op.id != "" && !ended && r.granted(op) == nil
	ok := r.admit(op, now, reply, past, known)
	switch cancelled := reply.GetStatus() == messages.Status_CANCELLED; {
	case cancelled && op.verb == "acquire" && !known: // it waited
		r.over[request{op.who, op.id, op.hash}] = over{how: messages.Status_CANCELLED}
	case withdrawn && !cancelled:
		r.over[own] = over{how: messages.Status_CANCELLED}
	}
	return ok
}

// past returns how the request has ended of which an operation speaks.
func (r *rules) past(op step) (o over, known bool) {
	hashes := []string{op.hash}
	switch {
	case op.verb == "release":
		hashes = []string{op.secret, ""}
	case op.hash == "":
		hashes = []string{"", op.secret}
	}
	for _, hash := range hashes {
		if o, known = r.over[request{op.who, op.id, hash}]; known {
			return o, true
		}
	}
	return over{}, false
}

func (r *rules) admit(op step, now lease.Instant, reply *messages.Reply, past over, known bool) bool {
	shown, status := reply.GetLease(), reply.GetStatus()
	switch status {
	case messages.Status_OVERLOADED, messages.Status_UNAVAILABLE, messages.Status_EXHAUSTED:
		return true
	}
	switch op.verb {
	case "acquire":
		return r.acquire(op, now, status, shown, past, known)
	case "release", "extend", "set":
		return r.own(op, now, status, shown, past, known)
	case "undeliverable": // as if the waiter had given it back
		h := r.find(op.token)
		if h != nil {
			r.end(*h, messages.Event_RELEASED)
		}
		return h != nil
	case "break":
		return r.breakLease(op, now, status, shown)
	case "confirm":
		return r.confirm(op, status, shown)
	case "get":
		if status == messages.Status_HELD_BACK {
			return len(r.lost) > 0 && shown.GetToken() == r.lost[0].token
		}
		if len(r.lost) > 0 {
			return false
		}
		if status == messages.Status_HELD {
			return len(r.held) > 0 && shown.GetToken() == r.held[0].token
		}
		return status == messages.Status_FREE && len(r.held) == 0 &&
			(shown.GetToken() == r.token || r.how == messages.Event_KIND_UNSPECIFIED && shown == nil)
	}
	return false
}

func (r *rules) acquire(
	op step, now lease.Instant, status messages.Status, shown *messages.Lease, past over, known bool,
) bool {
	own := r.find(shown.GetToken())
	switch status {
	case messages.Status_GRANTED:
		switch {
		case own == nil:
			return r.grant(op, now, shown, past, known)
		case !own.isOf(op) || own.fence != shown.GetFence():
			return false
		case op.reentrant && own.same(op):
			if op.id != "" && op.id != own.id {
				r.over[request{op.who, op.id, op.hash}] = over{token: own.token}
			}
			if now.Add(op.ttl) > own.lapse {
				own.ttl, own.lapse = op.ttl, now.Add(op.ttl)
			}
			return true
		}
		return own.id == op.id && op.id != ""
	case messages.Status_HELD:
		again := slices.ContainsFunc(r.of(op), func(h held) bool { return op.reentrant && h.same(op) })
		return len(r.held) > 0 && len(r.lost) == 0 && shown.GetToken() == r.held[0].token && !again &&
			r.granted(op) == nil
	case messages.Status_HELD_BACK:
		return len(r.lost) > 0 && shown.GetToken() == r.lost[0].token && !r.takesBack(op) && r.granted(op) == nil
	case messages.Status_RELEASED, messages.Status_EXPIRED:
		return known && past.is(status, shown.GetToken()) && (op.hash == "" || op.hash == op.secret)
	case messages.Status_NOT_OWNER: // the request is another one's: one that has ended, or is granted, or waits
		return op.id != "" && (shown == nil || len(r.held) > 0 && shown.GetToken() == r.held[0].token) &&
			r.granted(op) == nil
	case messages.Status_TIMEOUT:
		return op.wait > 0 && (shown == nil || r.find(shown.GetToken()) != nil)
	case messages.Status_CANCELLED:
		return known && past.is(status, 0) || op.wait > 0
	default:
		return false
	}
}

// grant allows a new lease: it fits, its token is the next, and its fence is that of the leases beside it.
func (r *rules) grant(op step, now lease.Instant, shown *messages.Lease, past over, known bool) bool {
	fence := messages.Token(r.token + 1).String()
	if len(r.held) > 0 {
		fence = r.held[0].fence
	}
	if len(r.lost) > 0 && !r.takesBack(op) {
		return false
	}
	for _, h := range slices.Clone(r.lost) {
		r.endBack(h)
	}
	ok := r.fits(op) && (!known || past.how == messages.Status_STATUS_UNSPECIFIED) &&
		shown.GetToken() == r.token+1 && shown.GetFence() == fence
	r.begin(held{
		owner: op.who, id: op.id, hash: op.hash, token: shown.GetToken(), limit: op.tolerates(), permits: op.takes(),
		fence: shown.GetFence(),
		lapse: now.Add(op.ttl), delay: delay{op.delay, op.confirmed}, ttl: op.ttl, meta: op.meta,
	})
	return ok
}

// own allows the answers to release and extend.
func (r *rules) own(
	op step, now lease.Instant, status messages.Status, shown *messages.Lease, past over, known bool,
) bool {
	mine := r.of(op)
	h := r.find(op.token)
	switch {
	case h != nil && !h.isOf(op):
		h = nil
	case h == nil && op.token == 0 && len(mine) == 1:
		h = r.find(mine[0].token)
	}
	if op.verb == "release" && op.id != "" && op.token == 0 {
		return r.releaseRequest(op, status, past, known)
	}
	switch status {
	case messages.Status_RELEASED:
		if h != nil {
			r.end(*h, messages.Event_RELEASED)
			return op.verb == "release"
		}
		return op.verb == "release" && r.howEnded(op) == messages.Event_RELEASED
	case messages.Status_EXTENDED:
		return h != nil && r.extend(op, now, *h, shown)
	case messages.Status_UPDATED:
		return op.verb == "set" && h != nil && r.set(op, now, h, shown)
	case messages.Status_INVALID:
		several := h == nil && op.token == 0 && len(mine) > 1
		return several || op.verb == "extend" && h != nil && op.limit > 0 &&
			(op.tolerates() < h.limit && !op.isLate(h.extends) ||
				op.tolerates() > h.limit && len(r.held)+len(r.lost) > 1)
	case messages.Status_CANCELLED:
		return op.verb == "release" && op.id != ""
	case messages.Status_EXPIRED:
		how := r.howEnded(op)
		return h == nil && (how == messages.Event_EXPIRED || how == messages.Event_BROKEN ||
			how == messages.Event_CONFIRMED)
	case messages.Status_NOT_HELD:
		how := r.howEnded(op)
		return h == nil && (how == messages.Event_RELEASED && op.verb != "release" ||
			how == messages.Event_KIND_UNSPECIFIED && len(r.held) == 0)
	case messages.Status_NOT_OWNER:
		return len(mine) == 0 && len(r.held) > 0 && shown.GetToken() == r.held[0].token
	case messages.Status_STALE_TOKEN:
		// a downgrade names the present one
		if h != nil && op.verb == "extend" && op.token == h.former && op.tolerates() > h.limit {
			return shown.GetToken() == h.token
		}
		return h == nil && len(mine) > 0 && op.token != 0 && shown.GetToken() == mine[len(mine)-1].token
	default:
		return false
	}
}

// extend allows a lease more time, or a larger limit under the next token.
func (r *rules) extend(op step, now lease.Instant, h held, shown *messages.Lease) bool {
	late := op.isLate(h.extends)
	if !late {
		h.ttl, h.extends = op.ttl, max(h.extends, op.order)
	}
	if op.limit == 0 || op.tolerates() == h.limit || late && op.tolerates() < h.limit {
		if !late {
			h.lapse = now.Add(h.ttl)
		}
		*r.find(h.token) = h
		return shown.GetToken() == h.token && shown.GetFence() == h.fence && h.shows(now, shown)
	}
	ok := len(r.held) == 1 && len(r.lost) == 0 && op.tolerates() > h.limit &&
		shown.GetToken() == r.token+1 && shown.GetFence() == messages.Token(r.token+1).String()
	r.held = nil
	h.token, h.former, h.limit, h.fence, h.lapse = shown.GetToken(), h.token, op.tolerates(), shown.GetFence(),
		now.Add(h.ttl)
	r.begin(h)
	return ok && h.shows(now, shown)
}

// set allows other metadata, unless a set with a higher number came before.
func (r *rules) set(op step, now lease.Instant, h *held, shown *messages.Lease) bool {
	if !op.isLate(h.sets) {
		h.meta, h.sets = op.meta, max(h.sets, op.order)
	}
	return shown.GetToken() == h.token && h.shows(now, shown)
}

// shows reports whether an answer has the time and the metadata of the lease.
func (h held) shows(now lease.Instant, shown *messages.Lease) bool {
	return shown.GetMetadata()["meta"] == h.meta && duration(shown.GetTtlMs()) == h.ttl &&
		duration(shown.GetRemainingMs()) == h.lapse.Sub(now).Truncate(ms)
}

func (r *rules) releaseRequest(op step, status messages.Status, past over, known bool) bool {
	h := r.granted(op)
	switch {
	case status == messages.Status_CANCELLED:
		return true
	case h != nil:
		r.end(*h, messages.Event_RELEASED)
		return status == messages.Status_RELEASED
	case status == messages.Status_NOT_HELD:
		return !known || past.is(messages.Status_CANCELLED, 0)
	default:
		return known && past.is(status, past.token)
	}
}

// howEnded returns how the lease ended of which an operation speaks, if that is known.
func (r *rules) howEnded(op step) messages.Event_Kind {
	for _, hash := range []string{"", op.secret} {
		if how, ok := r.ended[leaseOf{op.who, hash, op.token}]; ok && op.token != 0 {
			return how
		}
	}
	for _, h := range r.lost {
		if h.isOf(op) && op.token != 0 && (h.token == op.token || h.former == op.token) {
			return messages.Event_EXPIRED
		}
	}
	mine := r.last.isOf(op) && (op.token == 0 || op.token == r.last.token)
	if len(r.held) == 0 && mine {
		return r.how
	}
	return messages.Event_KIND_UNSPECIFIED
}

func (r *rules) confirm(op step, status messages.Status, shown *messages.Lease) bool {
	h := r.findLost(op.token)
	switch status {
	case messages.Status_RELEASED:
		if h != nil {
			r.endBack(*h)
			return true
		}
		return op.token == r.last.token && r.how == messages.Event_CONFIRMED
	case messages.Status_STALE_TOKEN:
		first := append(slices.Clone(r.lost), r.held...)
		return h == nil && len(first) > 0 && shown.GetToken() == first[0].token
	case messages.Status_NOT_HELD:
		return len(r.lost)+len(r.held) == 0
	default:
		return false
	}
}

func (r *rules) breakLease(op step, now lease.Instant, status messages.Status, shown *messages.Lease) bool {
	h := r.find(op.token)
	if h != nil && h.token != op.token { // a former token breaks nothing
		h = nil
	}
	switch status {
	case messages.Status_RELEASED:
		if h != nil {
			broken := *h
			r.end(broken, messages.Event_BROKEN)
			r.lose(broken, now)
			return true
		}
		return op.token == r.last.token && (r.how == messages.Event_BROKEN || r.how == messages.Event_CONFIRMED)
	case messages.Status_STALE_TOKEN:
		return h == nil && len(r.held) > 0 && shown.GetToken() == r.held[0].token
	case messages.Status_NOT_HELD:
		return len(r.held) == 0
	default:
		return false
	}
}

// inEffect sorts the answers of one outcome by when they took effect: a release comes before
// the grant that follows from it, though it is answered after. Those without a change keep to
// the side where they are: waits that have run out first, the request itself last. An undeliverable grant counts
// as answered if it took a grant back.
func inEffect(o lease.Outcome, s step) []lease.Answer {
	answers := slices.Clone(o.Answers)
	release := func(c *journal.Change) bool { return c.GetKind() == messages.Event_RELEASED }
	if s.verb == "undeliverable" && slices.ContainsFunc(o.Changes, release) {
		answers = append(answers, lease.Answer{
			To: messages.ReplyTo{Subject: s.from}, Reply: &messages.Reply{Status: messages.Status_RELEASED},
		})
	}
	place := func(a lease.Answer) int {
		i := slices.IndexFunc(o.Changes, func(c *journal.Change) bool { return reports(a, c) })
		switch {
		case i >= 0:
			return i
		case a.To.Subject == s.from:
			return len(o.Changes)
		default: // a refusal may show a lease that is granted in the same step
			return slices.IndexFunc(o.Changes, func(c *journal.Change) bool {
				return c.GetKind() == messages.Event_ACQUIRED &&
					c.GetGrant().GetToken() == a.Reply.GetLease().GetToken()
			})
		}
	}
	return slices.SortedStableFunc(slices.Values(answers), func(a, b lease.Answer) int {
		return cmp.Compare(place(a), place(b))
	})
}

// reports reports whether the answer shows the change.
func reports(a lease.Answer, c *journal.Change) bool {
	same := a.Reply.GetLease().GetToken() == c.GetGrant().GetToken()
	switch status := a.Reply.GetStatus(); c.GetKind() {
	case messages.Event_ACQUIRED:
		return same && (status == messages.Status_GRANTED ||
			status == messages.Status_EXTENDED && c.GetGrant().GetFormer() > 0)
	case messages.Event_CONFIRMED:
		return status == messages.Status_RELEASED && c.GetReason() != "the delay is over"
	case messages.Event_RELEASED, messages.Event_BROKEN:
		return status == messages.Status_RELEASED && c.GetReason() != "downgraded"
	default:
		return false
	}
}
