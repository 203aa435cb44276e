package soak

import (
	"cmp"
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/cespare/xxhash/v2"

	"github.com/holdfast-io/holdfast/jetstream"
	"github.com/holdfast-io/holdfast/messages"
	"github.com/holdfast-io/holdfast/messages/journal"
)

// auditor reads the journals all the while, and checks that each record follows from those before it.
type auditor struct {
	*run
	shards []*books
	index  map[string]*resource

	mu         sync.Mutex
	deployment *jetstream.Deployment // nil while the node is restarted
}

// books are what the auditor knows of a shard.
type books struct {
	*run
	shard           uint32
	index           map[string]*resource
	position, first uint64
	number, epoch   uint64
	floor           uint64
	accounts        map[string]*account
	// total is what was read.
	total sums
}

// sums count what the journals tell.
type sums struct {
	commits, empty, opened, pages, gaps, unseen, changes int64
	kinds                                                [6]int64
	reserved, bounces, forgotten                         int64
	messages                                             int64
	topToken                                             uint64
}

func (s *sums) add(t sums) {
	s.commits += t.commits
	s.empty += t.empty
	s.opened += t.opened
	s.pages += t.pages
	s.gaps += t.gaps
	s.unseen += t.unseen
	s.changes += t.changes
	for i := range s.kinds {
		s.kinds[i] += t.kinds[i]
	}
	s.reserved += t.reserved
	s.bounces += t.bounces
	s.forgotten += t.forgotten
	s.messages += t.messages
	s.topToken = max(s.topToken, t.topToken)
}

// account is what the auditor knows of a resource.
type account struct {
	*resource
	// known: nothing about it was missed. remembered: the node remembers its counter.
	known, remembered bool
	state             messages.Event_Kind
	token, reserved   uint64
	owner             string
	digest            uint64 // of the owner, if a page tells no more
	// high is the highest token granted. Above lie all that it had, or had reserved, when it was
	// forgotten or the shard was opened: there the next one begins.
	high, above uint64
	// prolonged: it was extended, so that nothing is known of when it ends.
	prolonged  bool
	acquiredAt int64
	ttl        uint32
}

func (a *account) held() bool { return a.state == messages.Event_ACQUIRED }

func (a *account) top() uint64 { return max(a.token, a.reserved) }

func newAuditor(r *run) *auditor {
	a := &auditor{run: r, index: r.index()}
	for shard := range r.cfg.shards {
		a.shards = append(a.shards, newBooks(r, shard, a.index))
	}
	return a
}

func newBooks(r *run, shard uint32, index map[string]*resource) *books {
	return &books{run: r, shard: shard, index: index, accounts: make(map[string]*account)}
}

// watch reads until ctx ends.
func (a *auditor) watch(ctx context.Context) {
	for ctx.Err() == nil {
		a.mu.Lock()
		if err := a.read(ctx); err != nil && ctx.Err() == nil {
			a.violated("the journal cannot be read: %v", err)
		}
		a.mu.Unlock()
		select {
		case <-a.after(60 * time.Millisecond):
		case <-ctx.Done():
		}
	}
}

// without runs f while nobody reads, and goes on with the deployment that f returns.
func (a *auditor) without(f func() *jetstream.Deployment) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.deployment = f()
}

func (a *auditor) read(ctx context.Context) error {
	for _, b := range a.shards {
		if err := b.read(ctx, a.deployment); err != nil {
			return err
		}
	}
	return nil
}

// fresh reads all journals from their beginning, as a new owner would, and returns what they hold.
func (a *auditor) fresh(ctx context.Context) (total sums, err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for shard := range a.cfg.shards {
		b := newBooks(a.run, shard, a.index)
		if err := b.read(ctx, a.deployment); err != nil {
			return total, err
		}
		total.add(b.total)
		a.checkBounded(b)
	}
	return total, nil
}

// mostPages is more than the pages that so few resources need.
const mostPages = 32

// checkBounded checks that a bucket is no larger than compactions let it become: the history, what
// grows until the next one begins, and what comes until that has purged.
func (a *auditor) checkBounded(b *books) {
	bound := int64(a.cfg.tuning.History + 64 + 3*a.cfg.tuning.CompactCommits)
	if b.total.commits > bound || b.total.pages > mostPages {
		a.violated("shard %d: its bucket holds %d commits and %d pages; %d and %d are the most that it may",
			b.shard, b.total.commits, b.total.pages, bound, mostPages)
	}
}

func (a *auditor) totals() (total sums) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, b := range a.shards {
		total.add(b.total)
	}
	return total
}

func (b *books) read(ctx context.Context, d *jetstream.Deployment) error {
	_, err := d.Bucket(b.shard).Replay(ctx, b.position, func(position uint64, r *journal.Record) error {
		if b.first == 0 {
			b.first = position
		}
		if position != b.position+1 {
			b.missed()
		}
		b.position = position
		b.total.messages++
		if p := r.GetPage(); p != nil {
			b.page(p)
		} else {
			b.commit(r.GetCommit())
		}
		return ctx.Err()
	})
	return err
}

// missed notes that a record was replaced or purged before it was read, so that resources may have
// been forgotten.
func (b *books) missed() {
	b.total.unseen++
	for _, a := range b.accounts {
		a.remembered = false
	}
}

// wrong reports what cannot be in a journal.
func (b *books) wrong(format string, args ...any) {
	b.violated("shard %d, position %d, commit %d, epoch %d: %s", b.shard, b.position, b.number, b.epoch, fmt.Sprintf(format, args...))
}

func (b *books) commit(c *journal.Commit) {
	switch epoch := b.epoch + opened(c); {
	case b.number == 0:
	case c.GetNumber() <= b.number:
		b.wrong("followed by commit %d", c.GetNumber())
	case c.GetNumber() > b.number+1:
		b.total.gaps++
		for _, a := range b.accounts {
			a.known = false
		}
		if c.GetEpoch() < epoch {
			b.wrong("followed by epoch %d", c.GetEpoch())
		}
	case c.GetEpoch() != epoch:
		b.wrong("followed by epoch %d", c.GetEpoch())
	}
	b.number, b.epoch = c.GetNumber(), c.GetEpoch()
	b.total.commits++
	b.total.opened += int64(opened(c))
	if len(c.GetChanges()) == 0 {
		b.total.empty++
	}
	if c.GetOpened() {
		for _, a := range b.accounts {
			a.above = max(a.above, a.top())
		}
	}
	for _, change := range c.GetChanges() {
		b.change(change, c)
	}
}

func opened(c *journal.Commit) uint64 {
	if c.GetOpened() {
		return 1
	}
	return 0
}

func (b *books) account(name string) *account {
	a, ok := b.accounts[name]
	if !ok {
		r := b.index[name]
		if r == nil || r.shard != b.shard {
			b.wrong("nobody uses resource %q here", name)
			r = &resource{run: b.run, name: name, unmatched: make(map[uint64]told)}
		}
		a = &account{resource: r, known: b.first == 1 && b.total.gaps == 0}
		b.accounts[name] = a
	}
	return a
}

func (b *books) change(c *journal.Change, in *journal.Commit) {
	name := c.GetResource()
	if g := c.GetGrant(); g != nil {
		name = g.GetResource()
	}
	a := b.account(name)
	a.mu.Lock()
	defer a.mu.Unlock()
	b.total.changes++
	b.total.kinds[c.GetKind()]++
	a.trace.add(line{
		at: b.now(), who: "journal", what: c.GetKind().String(), token: max(c.GetGrant().GetToken(), c.GetReserved()),
		note: fmt.Sprintf("commit %d by %s %s", in.GetNumber(), c.GetGrant().GetOwner(), c.GetReason()),
	})
	if c.GetGrant() == nil {
		b.reserve(a, c)
		return
	}
	b.check(a, c, in)
	b.apply(a, c)
}

func (b *books) reserve(a *account, c *journal.Change) {
	b.total.reserved++
	if a.known && (a.held() || c.GetReserved() <= a.token) {
		a.violated("commit %d reserves tokens up to %d where token %d stands (%s)", b.number, c.GetReserved(), a.token, a.state)
	}
	if a.class == persistent {
		a.violated("commit %d reserves tokens up to %d, but it has no ephemeral leases", b.number, c.GetReserved())
	}
	if c.GetReserved() <= a.above {
		a.violated("commit %d reserves tokens up to %d, when %d may have been granted", b.number, c.GetReserved(), a.above)
	}
	a.reserved = c.GetReserved()
	b.total.topToken = max(b.total.topToken, a.reserved)
}

func (b *books) check(a *account, c *journal.Change, in *journal.Commit) {
	g := c.GetGrant()
	token := g.GetToken()
	acquired := c.GetKind() == messages.Event_ACQUIRED
	switch {
	case g.GetDurability() != messages.Durability_PERSISTENT || a.class == ephemeral:
		a.violated("commit %d records an ephemeral lease, %s", b.number, c)
	case acquired && token <= max(a.high, a.above):
		a.violated("commit %d grants token %d, but token %d was granted, and up to %d may have been", b.number, token, a.high, a.above)
	case !a.known:
	case acquired && a.held():
		a.violated("commit %d grants token %d while token %d is held", b.number, token, a.token)
	case acquired && a.class == persistent && a.remembered && token != a.token+1:
		a.violated("commit %d grants token %d behind token %d, which is remembered", b.number, token, a.token)
	case !acquired && (!a.held() || token != a.token || g.GetOwner() != a.owner):
		a.violated("commit %d: %s of token %d of %s where token %d of %s stands (%s)",
			b.number, c.GetKind(), token, g.GetOwner(), a.token, a.owner, a.state)
	case c.GetKind() == messages.Event_EXPIRED && !a.prolonged && in.GetAtMs() < a.acquiredAt+int64(a.ttl)-margin.Milliseconds():
		a.violated("commit %d: token %d expires %d ms after it was granted for %d ms", b.number, token, in.GetAtMs()-a.acquiredAt, a.ttl)
	}
}

func (b *books) apply(a *account, c *journal.Change) {
	g := c.GetGrant()
	switch c.GetKind() {
	case messages.Event_ACQUIRED:
		a.reserved, a.acquiredAt, a.ttl, a.prolonged = 0, g.GetAcquiredAtMs(), g.GetTtlMs(), false
		a.state = messages.Event_ACQUIRED
		a.high = max(a.high, g.GetToken())
		a.journaled(g.GetToken(), g.GetOwner(), b.now())
	case messages.Event_EXTENDED:
		a.prolonged = true
		a.state = messages.Event_ACQUIRED
	default:
		a.state = c.GetKind()
		if c.GetReason() == "the waiting client was gone" {
			b.total.bounces++
		}
	}
	a.token, a.owner, a.digest = g.GetToken(), g.GetOwner(), 0
	a.known, a.remembered = true, true
	b.total.topToken = max(b.total.topToken, a.token)
}

// page checks that a page says what the journal says.
func (b *books) page(p *journal.Page) {
	b.total.pages++
	if b.number != 0 && (p.GetNumber() != b.number || p.GetEpoch() != b.epoch) {
		b.wrong("page %s says that it was written behind commit %d of epoch %d", p.Name(), p.GetNumber(), p.GetEpoch())
	}
	if p.GetFloor() < b.floor {
		b.wrong("page %s lowers the floor from %d to %d", p.Name(), b.floor, p.GetFloor())
	}
	b.number, b.epoch, b.floor = p.GetNumber(), p.GetEpoch(), p.GetFloor()
	entries := make(map[string]*journal.Entry)
	for _, e := range p.GetEntries() {
		name := e.GetResource()
		if g := e.GetGrant(); g != nil {
			name = g.GetResource()
		}
		entries[name] = e
		b.account(name)
	}
	for name, a := range b.accounts {
		if depth := p.GetDepth(); depth == 0 || uint32(xxhash.Sum64String(name)>>(64-depth)) == p.GetPrefix() {
			b.entry(a, entries[name], p)
		}
	}
}

// same reports whether the entry of a page is what the journal tells of the resource, whole or shrunk.
func (a *account) same(e *journal.Entry) bool {
	g := e.GetGrant()
	owner := g.GetOwner() == a.owner
	if e.GetOwnerDigest() != 0 {
		owner = !a.held() && e.GetOwnerDigest() == cmp.Or(a.digest, max(xxhash.Sum64String(a.owner), 1))
	}
	if g == nil && a.reserved > a.token {
		return e.GetReserved() == a.reserved // what was granted before does not count any more
	}
	return owner && g.GetToken() == a.token && e.GetState() == a.state && e.GetReserved() == a.reserved
}

func (b *books) entry(a *account, e *journal.Entry, p *journal.Page) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if e == nil {
		if a.known && (a.held() || p.GetFloor() < a.top()) {
			a.violated("page %s behind commit %d forgets it where token %d stands (%s), reserved %d; its floor is %d",
				p.Name(), b.number, a.token, a.state, a.reserved, p.GetFloor())
		}
		if a.remembered {
			b.total.forgotten++
			a.trace.add(line{at: b.now(), who: "journal", what: "forgotten", note: fmt.Sprintf("commit %d, floor %d", b.number, p.GetFloor())})
		}
		a.remembered, a.above = false, max(a.above, a.top())
		return
	}
	g := e.GetGrant()
	if a.known && a.remembered && !a.same(e) {
		a.violated("page %s behind commit %d has %s, where the journal has token %d of %s (%s), reserved %d",
			p.Name(), b.number, e, a.token, a.owner, a.state, a.reserved)
	}
	a.token, a.owner, a.state, a.reserved = g.GetToken(), g.GetOwner(), e.GetState(), e.GetReserved()
	a.digest = e.GetOwnerDigest()
	a.prolonged, a.known, a.remembered = true, true, true
}
