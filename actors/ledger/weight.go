package ledger

import (
	"github.com/holdfast-io/holdfast/messages"
	"github.com/holdfast-io/holdfast/messages/journal"
)

const (
	// commitOverhead estimates the tags, lengths and numbers of a commit.
	commitOverhead = 60
	// reservationWeight estimates the stored bytes of a reservation from above.
	reservationWeight = 60 + messages.MaxResourceBytes/4
)

// Weight estimates the stored bytes of a change from above.
func Weight(c *journal.Change) int {
	if g := c.GetGrant(); g != nil {
		return g.Weight() + len(c.GetReason())
	}
	return reservationWeight
}

// commitWeight estimates the stored bytes of a commit from above.
func commitWeight(c *journal.Commit) int {
	n := commitOverhead
	for _, change := range c.GetChanges() {
		n += Weight(change)
	}
	return n
}
