package linear

import (
	"fmt"

	"github.com/holdfast-io/holdfast/messages"
	"github.com/holdfast-io/holdfast/messages/journal"
)

// wallSlack is by how much the wall clock of a node may have been wrong within one ownership.
const wallSlack = 10 // ms

// books are kept of one shard, to see that each record follows from those before it.
type books struct {
	number, epoch uint64
	writer        *journal.Writer
	openedAt      int64
	accounts      map[string]*account
	wrong         []string
}

// account is what the books have of a resource.
type account struct {
	last     *journal.Grant // nil: none
	end      messages.Event_Kind
	reserved uint64
	// due is the earliest that the lease can run out, by the wall clock of the owner, if that is known.
	due int64
}

func (a *account) held() bool { return a.end == messages.Event_ACQUIRED }

// checkJournal keeps the books of all shards, and returns what in them cannot be.
func checkJournal(j *Journal) (wrong []string, leases map[string]*journal.Grant) {
	leases = make(map[string]*journal.Grant)
	for shard, log := range j.shards {
		b := books{accounts: make(map[string]*account)}
		for _, r := range log {
			before := len(b.wrong)
			b.read(r.Record)
			for i := before; i < len(b.wrong); i++ {
				b.wrong[i] = fmt.Sprintf("shard %d, position %d, %s: %s", shard, r.position, r.Describe(), b.wrong[i])
			}
		}
		wrong = append(wrong, b.wrong...)
		for resource, a := range b.accounts {
			if a.held() {
				leases[resource] = a.last
			}
		}
	}
	return wrong, leases
}

func (b *books) is(format string, args ...any) {
	b.wrong = append(b.wrong, fmt.Sprintf(format, args...))
}

func (b *books) read(r *journal.Record) {
	if p := r.GetPage(); p != nil {
		if p.GetNumber() != b.number || p.GetEpoch() != b.epoch {
			b.is("the page was written behind commit %d of epoch %d", b.number, b.epoch)
		}
		return
	}
	c := r.GetCommit()
	if c.GetNumber() != b.number+1 {
		b.is("follows commit %d", b.number)
	}
	b.number = c.GetNumber()
	b.follows(c)
	for _, m := range c.GetChanges() {
		b.change(m, c)
	}
}

// follows checks who wrote the commit.
func (b *books) follows(c *journal.Commit) {
	if c.GetOpened() {
		if c.GetEpoch() != b.epoch+1 {
			b.is("opened behind epoch %d", b.epoch)
		}
		b.epoch, b.writer, b.openedAt = c.GetEpoch(), c.GetWriter(), c.GetAtMs()
		for _, a := range b.accounts {
			a.due = c.GetAtMs() + int64(a.last.GetTtlMs()) // it begins anew
		}
		return
	}
	if c.GetEpoch() != b.epoch {
		b.is("of epoch %d in epoch %d", c.GetEpoch(), b.epoch)
	}
	if w := c.GetWriter(); w.GetNode() != b.writer.GetNode() || w.GetIncarnation() != b.writer.GetIncarnation() {
		b.is("written by %v where %v had opened", w, b.writer)
	}
}

func (b *books) change(m *journal.Change, c *journal.Commit) {
	g := m.GetGrant()
	name := g.GetResource()
	if g == nil {
		name = m.GetResource()
	}
	a := b.accounts[name]
	if a == nil {
		a = new(account)
		b.accounts[name] = a
	}
	if g == nil {
		if a.held() || m.GetReserved() <= max(a.last.GetToken(), a.reserved) {
			b.is("%q: reserved up to %d where token %d stands (%s)", name, m.GetReserved(), a.last.GetToken(), a.end)
		}
		a.reserved = m.GetReserved()
		return
	}
	if g.GetDurability() != messages.Durability_PERSISTENT {
		b.is("%q: an ephemeral lease is recorded", name)
	}
	if m.GetKind() == messages.Event_ACQUIRED {
		b.acquired(a, g)
	} else {
		b.ended(a, m, c)
	}
	a.last, a.end = g, m.GetKind()
	if m.GetKind() == messages.Event_EXTENDED {
		a.end, a.due = messages.Event_ACQUIRED, 0 // when it was extended is not recorded
	}
}

func (b *books) acquired(a *account, g *journal.Grant) {
	token, last := g.GetToken(), a.last.GetToken()
	switch {
	case a.held():
		b.is("%q: token %d is granted to %s while token %d of %s is held", g.GetResource(), token, g.GetOwner(), last, a.last.GetOwner())
	case a.reserved == 0 && token != last+1, token <= last:
		b.is("%q: token %d is granted behind token %d", g.GetResource(), token, last)
	}
	a.reserved = 0
	a.due = g.GetAcquiredAtMs() + int64(g.GetTtlMs())
}

// ended checks a change that needs a lease: one that ends it, or extends it.
func (b *books) ended(a *account, m *journal.Change, c *journal.Commit) {
	g := m.GetGrant()
	switch {
	case !a.held():
		b.is("%q: %s of token %d, which is %s", g.GetResource(), m.GetKind(), g.GetToken(), a.end)
	case g.GetToken() != a.last.GetToken() || g.GetOwner() != a.last.GetOwner() || g.GetRequestId() != a.last.GetRequestId():
		b.is("%q: %s of token %d of %s where token %d of %s is held", g.GetResource(), m.GetKind(),
			g.GetToken(), g.GetOwner(), a.last.GetToken(), a.last.GetOwner())
	case m.GetKind() == messages.Event_EXPIRED && c.GetAtMs() < a.due-wallSlack:
		b.is("%q: token %d expires at %d, %d ms before its time", g.GetResource(), g.GetToken(), c.GetAtMs(), a.due-c.GetAtMs())
	}
}
