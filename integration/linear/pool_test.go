package linear_test

import (
	"errors"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/holdfast-io/holdfast/integration/linear"
	"github.com/holdfast-io/holdfast/messages"
	"github.com/holdfast-io/holdfast/messages/journal"
)

// pool is a lock service of one resource with leases that are shared: like that of a world, and as small.
type pool struct {
	*world
	held []*place // the oldest first
	// last is the last grant, which may be held.
	last    *place
	lastEnd messages.Event_Kind
	waiting []*asking
	// gone are the shared leases that have ended, by token.
	gone map[uint64]gonePlace
	// leaked are permits that were not given back.
	leaked []uint32
}

// place is a lease.
type place struct {
	*journal.Grant
	due time.Duration
}

type gonePlace struct {
	owner string
	how   messages.Event_Kind
}

const readers = math.MaxUint32

// simulateSharing lets a few clients read, write and use a semaphore for a few seconds.
func simulateSharing(seed uint64, b bug, loss int) *world {
	w := newWorld(seed, b, loss)
	w.pool = &pool{world: w, gone: map[uint64]gonePlace{}}
	w.epoch++
	w.commit(true)
	w.play()
	return w
}

func (p *pool) sharing() (limit, permits uint32) {
	switch n := p.dice.IntN(10); {
	case n < 4:
		return readers, 0
	case n < 7:
		return 0, 0
	default:
		return 3, 1 + p.dice.Uint32N(2)
	}
}

// reopen is a crash and a new owner.
func (p *pool) reopen() {
	p.waiting, p.gone = nil, map[uint64]gonePlace{}
	clear(p.ended)
	if p.last != nil && !slices.Contains(p.held, p.last) {
		p.ended[[2]string{p.last.GetOwner(), p.last.GetRequestId()}] = past{how(p.lastEnd), p.last.GetToken()}
	}
	if len(p.held) > 1 && p.plant(holderLost, 100) {
		p.held = p.held[1:]
	}
	p.epoch++
	p.commit(true)
	for _, h := range p.held {
		p.run(h)
	}
}

func how(kind messages.Event_Kind) messages.Status {
	if kind == messages.Event_RELEASED {
		return messages.Status_RELEASED
	}
	return messages.Status_EXPIRED
}

// changed is what a commit has of a lease.
func changed(kind messages.Event_Kind, h *place, reason string) *journal.Change {
	return &journal.Change{Kind: kind, Grant: h.Grant, Reason: reason} // the grant is replaced, not changed
}

// run lets a lease run from now.
func (p *pool) run(h *place) {
	due := p.now + ms(h.GetTtlMs())
	h.due = due
	p.in(due-p.now, func() {
		if slices.Contains(p.held, h) && h.due == due {
			p.finish(h, messages.Event_EXPIRED, "")
		}
	})
}

// finish ends a lease and hands its permits on.
func (p *pool) finish(h *place, kind messages.Event_Kind, reason string) {
	p.commit(false, changed(kind, h, reason))
	p.drop(h, kind)
	p.serve()
}

func (p *pool) drop(h *place, kind messages.Event_Kind) {
	p.held = slices.DeleteFunc(p.held, func(other *place) bool { return other == h })
	if p.last == h {
		p.lastEnd = kind
	}
	if len(p.held) > 0 && p.plant(permitKept, 20) {
		p.leaked = append(p.leaked, slots(h)...)
	}
	p.ended[[2]string{h.GetOwner(), h.GetRequestId()}] = past{how(kind), h.GetToken()}
	if h.GetLimit() > 0 {
		p.gone[h.GetToken()] = gonePlace{h.GetOwner(), kind}
		if h.GetFormer() > 0 {
			p.gone[h.GetFormer()] = gonePlace{h.GetOwner(), kind}
		}
	}
	if len(p.held) == 0 {
		p.leaked = nil
	}
}

func slots(h *place) []uint32 {
	if h.GetLimit() == 0 {
		return []uint32{0}
	}
	return h.GetSlots()
}

// taken are the numbers of all permits.
func (p *pool) taken() (all []uint32) {
	for _, h := range p.held {
		all = append(all, slots(h)...)
	}
	return append(all, p.leaked...)
}

func (p *pool) fits(limit, permits uint32) bool {
	all := uint32(len(p.taken())) + max(permits, 1)
	mine, theirs := all <= max(limit, 1), true
	for _, h := range p.held {
		theirs = theirs && all <= max(h.GetLimit(), 1)
	}
	switch {
	case len(p.held) == 0 || mine && theirs:
		return true
	case theirs && limit <= 1:
		return p.plant(writerBesideReaders, 10)
	case mine && limit > 1:
		return p.plant(limitForgotten, 10)
	}
	return false
}

// serve grants the requests at the head of the queue that fit.
func (p *pool) serve() {
	for len(p.waiting) > 0 && p.fits(p.waiting[0].Limit, p.waiting[0].Permits) {
		q := p.waiting[0]
		p.waiting = p.waiting[1:]
		h := p.grant(q, q.heard)
		if q.gone {
			p.in(p.upTo(2), func() {
				if slices.Contains(p.held, h) {
					p.finish(h, messages.Event_RELEASED, "the client was gone")
				}
			})
		}
	}
}

func (p *pool) grant(q *asking, sending int) *place {
	p.token++
	h := &place{Grant: &journal.Grant{
		Resource: theResource, Owner: q.Owner, Token: p.token, TtlMs: q.TTL, RequestId: q.RequestID,
		AcquiredAtMs: p.wall(),
	}}
	if q.Limit > 1 {
		h.Limit = q.Limit
		taken := p.taken()
		if len(p.held) > 0 && p.plant(slotGivenTwice, 20) {
			taken = taken[1:]
		}
		for n := uint32(0); len(h.Slots) < int(max(q.Permits, 1)); n++ {
			if !slices.Contains(taken, n) {
				h.Slots = append(h.Slots, n)
			}
		}
		switch {
		case len(p.held) == 0 && p.last.grant().GetPhase() > 0 && p.plant(phaseKept, 30):
			h.Phase = p.last.GetPhase()
		case len(p.held) == 0 || p.plant(phaseSplit, 20):
			h.Phase = p.token
		default:
			h.Phase = max(p.held[0].GetPhase(), 1)
		}
	}
	p.commit(false, changed(messages.Event_ACQUIRED, h, ""))
	p.enter(h)
	p.show(q, sending, messages.Status_GRANTED, h)
	return h
}

func (h *place) grant() *journal.Grant {
	if h == nil {
		return nil
	}
	return h.Grant
}

func (p *pool) enter(h *place) {
	p.held, p.last, p.lastEnd = append(p.held, h), h, messages.Event_ACQUIRED
	p.run(h)
}

// show answers with a lease.
func (p *pool) show(q *asking, sending int, status messages.Status, h *place) {
	r := &messages.Reply{Status: status, Waiting: uint32(len(p.waiting))}
	if h != nil {
		r.Lease = h.Lease(0)
	}
	if status == messages.Status_HELD {
		for _, other := range p.held {
			r.Holders = append(r.Holders, other.Lease(0))
		}
		r.Held = uint32(len(p.taken()))
		if len(r.Holders) > 1 && p.plant(holderLeftOut, 30) {
			r.Holders = r.Holders[:len(r.Holders)-1]
		}
	}
	p.reply(q, sending, r)
}

func (p *pool) say(q *asking, sending int, status messages.Status) { p.show(q, sending, status, nil) }

func (p *pool) decide(q *asking, sending int) {
	switch q.Kind {
	case messages.OpAcquire:
		p.acquire(q, sending)
	case messages.OpRelease, messages.OpExtend:
		p.use(q, sending)
	case messages.OpBreak:
		p.breakLease(q, sending)
	default:
		if len(p.held) > 0 {
			p.show(q, sending, messages.Status_HELD, p.held[0])
		} else {
			p.answer(q, sending, messages.Status_FREE, "", p.token)
		}
	}
}

func (p *pool) acquire(q *asking, sending int) {
	over, known := p.ended[[2]string{q.Owner, q.RequestID}]
	var same, again *place
	for _, h := range p.held {
		if h.GetOwner() != q.Owner {
			continue
		}
		if h.GetRequestId() == q.RequestID {
			same = h
		}
		if q.Reentrant && max(h.GetLimit(), 1) == max(q.Limit, 1) && len(slots(h)) == int(max(q.Permits, 1)) {
			again = h
		}
	}
	switch {
	case known && same == nil && over.token > 0:
		p.answer(q, sending, over.how, q.Owner, over.token)
	case known && same == nil:
		p.say(q, sending, over.how)
	case again != nil:
		if p.now+ms(q.TTL) > again.due {
			p.extend(again, q)
		}
		p.show(q, sending, messages.Status_GRANTED, again)
	case same != nil:
		p.show(q, sending, messages.Status_GRANTED, same)
	case len(p.waiting) == 0 && p.fits(q.Limit, q.Permits),
		len(p.waiting) > 0 && p.isFit(q) && p.plant(readerOvertakes, 50):
		p.grant(q, sending)
	case q.Wait == 0:
		p.show(q, sending, messages.Status_HELD, p.held[0])
	default:
		p.enqueue(q, sending)
	}
}

// isFit is fits without a bug of its own.
func (p *pool) isFit(q *asking) bool {
	return p.bug == readerOvertakes && q.Wait == 0 && p.fits(q.Limit, q.Permits)
}

func (p *pool) enqueue(q *asking, sending int) {
	q.heard, q.until = sending, p.now+ms(q.Wait)
	if !slices.Contains(p.waiting, q) {
		p.waiting = append(p.waiting, q)
	}
	until := q.until
	p.in(ms(q.Wait), func() {
		if slices.Contains(p.waiting, q) && q.until == until {
			p.leave(q)
			p.say(q, sending, messages.Status_TIMEOUT)
			p.serve()
		}
	})
}

func (p *pool) leave(q *asking) {
	p.waiting = slices.DeleteFunc(p.waiting, func(other *asking) bool { return other == q })
}

// extend lets a lease run anew.
func (p *pool) extend(h *place, q *asking) {
	g := &journal.Grant{
		Resource: h.Resource, Owner: h.Owner, Token: h.Token, TtlMs: q.TTL, RequestId: h.RequestId,
		AcquiredAtMs: h.AcquiredAtMs,
		Limit:        h.Limit, Slots: h.Slots, Phase: h.Phase, Former: h.Former,
	}
	h.Grant = g
	p.commit(false, changed(messages.Event_EXTENDED, h, ""))
	p.run(h)
}

func (p *pool) downgrade(h *place, q *asking) *place {
	if p.plant(downgradeForgotten, 50) {
		p.extend(h, q)
		return h
	}
	token := p.token + 1
	if p.plant(downgradeKeepsToken, 50) {
		token = h.Token
	}
	p.token = token
	now := &place{Grant: &journal.Grant{
		Resource: h.Resource, Owner: h.Owner, Token: token, TtlMs: q.TTL, RequestId: h.RequestId,
		AcquiredAtMs: p.wall(),
		Limit:        q.Limit, Slots: slots(h), Phase: token, Former: h.Token,
	}}
	p.commit(false, changed(messages.Event_RELEASED, h, "downgraded"), changed(messages.Event_ACQUIRED, now, ""))
	p.held = slices.DeleteFunc(p.held, func(other *place) bool { return other == h })
	p.enter(now)
	return now
}

func (p *pool) own(owner string, token uint64) (own *place, n int) {
	for _, h := range p.held {
		switch {
		case h.GetOwner() != owner:
		case token != 0 && (h.GetToken() == token || h.GetFormer() == token):
			return h, 1
		case token == 0:
			own = h
			n++
		}
	}
	return own, n
}

func (p *pool) use(q *asking, sending int) {
	if i := slices.IndexFunc(p.waiting, func(a *asking) bool {
		return q.RequestID != "" && a.RequestID == q.RequestID && a.Owner == q.Owner
	}); i >= 0 {
		waiting := p.waiting[i]
		p.leave(waiting)
		p.ended[[2]string{q.Owner, q.RequestID}] = past{how: messages.Status_CANCELLED}
		p.say(waiting, waiting.heard, messages.Status_CANCELLED)
		p.say(q, sending, messages.Status_CANCELLED)
		p.serve()
		return
	}
	if q.Kind == messages.OpRelease && q.RequestID != "" && q.Token == 0 {
		p.releaseRequest(q, sending)
		return
	}
	h, n := p.own(q.Owner, q.Token)
	if n != 1 {
		p.refuse(q, sending)
		return
	}
	switch {
	case q.Kind == messages.OpRelease:
		p.finish(h, messages.Event_RELEASED, "")
		p.say(q, sending, messages.Status_RELEASED)
	case q.Limit > max(h.GetLimit(), 1) && q.Token == h.GetFormer() && q.Token != 0:
		p.show(q, sending, messages.Status_STALE_TOKEN, h)
	case q.Limit > max(h.GetLimit(), 1) && len(p.held) > 1 && !p.plant(downgradeOfMany, 50),
		q.Limit > 0 && q.Limit < h.GetLimit():
		p.say(q, sending, messages.Status_INVALID)
	case q.Limit > max(h.GetLimit(), 1):
		p.show(q, sending, messages.Status_EXTENDED, p.downgrade(h, q))
		p.serve()
	default:
		p.extend(h, q)
		p.show(q, sending, messages.Status_EXTENDED, h)
	}
}

func (p *pool) refuse(q *asking, sending int) {
	gone, known := p.gone[q.Token]
	known = known && gone.owner == q.Owner
	if l := p.last.grant(); len(p.held) == 0 && l.GetOwner() == q.Owner && (q.Token == 0 || q.Token == l.GetToken()) &&
		l != nil {
		gone, known = gonePlace{q.Owner, p.lastEnd}, true
	}
	all := slices.DeleteFunc(slices.Clone(p.held), func(h *place) bool { return h.GetOwner() != q.Owner })
	switch {
	case known && gone.how != messages.Event_RELEASED:
		p.say(q, sending, messages.Status_EXPIRED)
	case known && q.Kind == messages.OpRelease:
		p.say(q, sending, messages.Status_RELEASED)
	case known, len(p.held) == 0:
		p.say(q, sending, messages.Status_NOT_HELD)
	case len(all) == 0:
		p.show(q, sending, messages.Status_NOT_OWNER, p.held[0])
	case q.Token != 0:
		p.show(q, sending, messages.Status_STALE_TOKEN, all[0])
	default:
		p.say(q, sending, messages.Status_INVALID)
	}
}

func (p *pool) releaseRequest(q *asking, sending int) {
	id := [2]string{q.Owner, q.RequestID}
	over, known := p.ended[id]
	i := slices.IndexFunc(p.held, func(h *place) bool {
		return h.GetOwner() == q.Owner &&
			h.GetRequestId() == q.RequestID
	})
	switch {
	case i >= 0:
		p.finish(p.held[i], messages.Event_RELEASED, "")
		p.say(q, sending, messages.Status_RELEASED)
	case known && over.token > 0:
		p.say(q, sending, over.how)
	default:
		p.ended[id] = past{how: messages.Status_CANCELLED}
		p.say(q, sending, messages.Status_NOT_HELD)
	}
}

func (p *pool) breakLease(q *asking, sending int) {
	i := slices.IndexFunc(p.held, func(h *place) bool { return h.GetToken() == q.Token })
	switch {
	case i >= 0:
		p.finish(p.held[i], messages.Event_BROKEN, q.Reason)
		p.say(q, sending, messages.Status_RELEASED)
	case p.lastEnd == messages.Event_BROKEN && p.last.GetToken() == q.Token:
		p.say(q, sending, messages.Status_RELEASED)
	case len(p.held) > 0:
		p.show(q, sending, messages.Status_STALE_TOKEN, p.held[0])
	default:
		p.say(q, sending, messages.Status_NOT_HELD)
	}
}

func TestCleanPoolsPass(t *testing.T) {
	t.Parallel()
	var all linear.Counts
	for seed := range uint64(3 * worlds) {
		w := simulateSharing(seed, none, 20)
		report, err := linear.Check(t.Context(), w.history, w.journal, nil, linear.Terms{Artifacts: t.ArtifactDir()})
		if err != nil {
			t.Fatalf("seed %d, %v: %v", seed, w, err)
		}
		all.Add(report.Counts)
	}
	t.Log(all)
	if all.Shared == 0 || all.Downgrades == 0 || all.Bounces == 0 || all.Unknown == 0 || all.Expiries == 0 ||
		all.Breaks == 0 || all.Waited == 0 || all.Late == 0 {
		t.Fatalf("the pools are too quiet: %v", all)
	}
}

func TestCleanPoolsPassWithoutAJournal(t *testing.T) {
	t.Parallel()
	for seed := range uint64(worlds) {
		w := simulateSharing(seed, none, 0)
		if _, err := linear.Check(t.Context(), w.history, nil, nil, linear.Terms{}); err != nil {
			t.Fatalf("seed %d, %v: %v", seed, w, err)
		}
	}
}

// Each bug of a pool is found in most of the pools that it shows in, and by these checks in some.
func TestBugsOfPoolsAreFound(t *testing.T) {
	t.Parallel()
	for _, planted := range []struct {
		bug
		by []string
	}{
		{writerBesideReaders, []string{"journal", "model", "windows"}},
		{limitForgotten, []string{"journal", "model", "windows"}},
		{readerOvertakes, []string{"turns"}},
		{permitKept, []string{"journal", "model"}},
		{phaseKept, []string{"journal", "model"}},
		{phaseSplit, []string{"journal", "model"}},
		{slotGivenTwice, []string{"journal", "model", "windows"}},
		{downgradeKeepsToken, []string{"journal", "model"}},
		{downgradeForgotten, []string{"model"}},
		{downgradeOfMany, []string{"journal", "model"}},
		{holderLeftOut, []string{"model"}},
		{holderLost, []string{"journal", "model"}},
	} {
		t.Run(string(planted.bug), func(t *testing.T) {
			t.Parallel()
			fired, found := 0, 0
			by := map[string]int{}
			for seed := uint64(0); seed < worlds || fired < shown && seed < mostWorlds; seed++ {
				w := simulateSharing(seed, planted.bug, 20)
				if w.fired == 0 {
					continue
				}
				fired++
				report, err := linear.Check(t.Context(), w.history, w.journal, nil, linear.Terms{})
				if err != nil && !errors.Is(err, linear.ErrViolated) {
					t.Fatal(err)
				}
				if err != nil {
					found++
				}
				checks := map[string]bool{}
				for _, v := range report.Violations {
					checks[v.Check] = true
				}
				for check := range checks {
					by[check]++
				}
			}
			t.Logf("shown in %d pools, found in %d, by %v", fired, found, by)
			if found == 0 || 10*found < 8*fired {
				t.Errorf("shown in %d pools, and found in %d only", fired, found)
			}
			for _, check := range planted.by {
				if by[check] == 0 {
					t.Errorf("the check of %s has found it in no pool", check)
				}
			}
		})
	}
}
