package ledger

import (
	"github.com/holdfast-io/holdfast/messages"
	"github.com/holdfast-io/holdfast/messages/journal"
)

// overhead estimates the tags, lengths and numbers of a grant or commit.
const overhead = 60

// weight estimates the stored bytes of a grant from above; without one, those of a reservation.
func weight(g *journal.Grant) int {
	if g == nil {
		return overhead + messages.MaxResourceBytes/4
	}
	n := overhead + len(g.GetResource()) + len(g.GetOwner()) + len(g.GetRequestId())
	for k, v := range g.GetMetadata() {
		n += 6 + len(k) + len(v)
	}
	return n
}

// Weight estimates the stored bytes of a change from above.
func Weight(c *journal.Change) int { return weight(c.GetGrant()) + len(c.GetReason()) }

// commitWeight estimates the stored bytes of a commit from above.
func commitWeight(c *journal.Commit) int {
	n := overhead
	for _, change := range c.GetChanges() {
		n += Weight(change)
	}
	return n
}
