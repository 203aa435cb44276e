package ledger

import (
	"maps"
	"strings"

	"github.com/holdfast-io/holdfast/actors/lease"
	"github.com/holdfast-io/holdfast/messages"
	"github.com/holdfast-io/holdfast/messages/journal"
)

// tombstone is what the ledger keeps of a resource that has been free for a while, see
// [lease.Image.Shrink]. It is small, since there may be millions.
type tombstone struct {
	// token is the highest that may have been issued, former the one that the last lease had before it was downgraded.
	token, former messages.Token
	// owner is the digest of the last owner; 0 if the token was reserved and nothing else is known.
	owner uint64
	// usedState is when the resource last changed, in Unix milliseconds, and in its lowest bits how the
	// last lease ended.
	usedState int64
}

// stateBits are enough for every kind of event.
const stateBits = 4

// used is when the resource last changed, in Unix milliseconds.
func (t tombstone) used() int64 { return t.usedState >> stateBits }

// state is how the last lease ended.
func (t tombstone) state() messages.Event_Kind {
	return messages.Event_Kind(t.usedState & (1<<stateBits - 1))
}

// newTombstone returns the tombstone of a free entry.
func newTombstone(e *entry) tombstone {
	i := e.Shrink()
	last := i.Last()
	return tombstone{
		// mutant: ShrunkWithoutToken
		token: i.Token(), former: messages.Token(last.Grant.GetFormer()), owner: i.OwnerDigest,
		usedState: e.used<<stateBits | int64(last.How),
	}
}

// entry returns the entry that a tombstone stands for.
func (t tombstone) entry(resource string) *entry {
	if t.owner == 0 {
		return &entry{Image: lease.Image{Floor: t.token}, used: t.used()}
	}
	return &entry{used: t.used(), Image: lease.Restore(&journal.Entry{
		Grant: &journal.Grant{Resource: resource, Token: uint64(t.token), Former: uint64(t.former)},
		State: t.state(), OwnerDigest: t.owner,
	})}
}

// tombstoneWeight estimates the stored bytes of a tombstone from above.
func tombstoneWeight(resource string) int { return 48 + len(resource) }

// shrink puts tombstones in the place of the page's entries that have been free since before. What is
// stored of the page is then larger than need be.
func (p *page) shrink(before int64) {
	was := len(p.entries)
	for resource, e := range p.entries {
		if e.IsFree() && e.used < before {
			p.remove(resource, e)
			p.addTombstone(strings.Clone(resource), newTombstone(e)) // the name may be a part of a larger string
			p.dirty = true
		}
	}
	p.entries = refit(p.entries, was)
	p.measure()
}

// refit returns m, or a copy that takes less memory if m has lost more than half of what it had. Go's
// maps do not shrink by themselves.
func refit[V any](m map[string]V, had int) map[string]V {
	if len(m) > had/2 {
		return m
	}
	smaller := make(map[string]V, len(m))
	maps.Copy(smaller, m)
	return smaller
}
