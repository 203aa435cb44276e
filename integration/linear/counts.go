package linear

import (
	"fmt"
	"strings"

	"github.com/holdfast-io/holdfast/messages"
)

// Counts are what a history is made of.
type Counts struct {
	// Operations are those that were asked, Unknown those of them that were never answered.
	Operations, Unknown int
	// Resources were used, Judged those of them that were held against the model. Forgotten are those whose
	// tokens do not begin with 1, as the service has forgotten it or others.
	Resources, Judged, Forgotten int
	// Grants are leases that clients received, HandOffs those of them that another owner had before,
	// Waited those that had been queued for.
	Grants, HandOffs, Waited int
	// Extensions, Releases and Breaks were answered to clients.
	Extensions, Releases, Breaks int
	// Kept and Parted are leases whose session was kept, and whose session was ended by its client.
	Kept, Parted int
	// Sets are values that clients have given their lease, as the answers say.
	Sets int
	// Blocks are leases with several tokens, Grown extensions that gave a lease more of them.
	Blocks, Grown int
	// Shared are leases beside which others could be held, Downgrades those of them that had been less shared.
	Shared, Downgrades int
	// Late are acquires with the answer that their lease had ended, Withdrawn those with the answer that they had been
	// taken out of the queue.
	Late, Withdrawn int
	// Expiries are leases that ran out, by the journal, or that an answer said had run out if there is
	// none. Bounces are grants that were taken back.
	Expiries, Bounces int
	// Losses are leases that were lost and held their resource back, by the journal, Confirmations those of them whose
	// loss a client has confirmed.
	Losses, Confirmations int
	// Rests are leases that ended before their shortest hold was over, by the journal.
	Rests int
	// Events were received by all who watched.
	Events int
}

// String is the counts on one line.
func (c Counts) String() string {
	return fmt.Sprintf(
		"%d operations (%d unknown) on %d resources (%d judged, %d forgotten): "+
			"%d grants, %d to another owner, %d out of the queue, "+
			"%d blocks, %d grown, %d shared, %d downgrades, %d extensions, %d sets, %d kept, %d parted, %d releases, %d breaks, %d late "+
			"copies, %d withdrawn, %d expiries, %d bounces, %d losses, %d confirmations, %d rests; %d events",
		c.Operations, c.Unknown, c.Resources, c.Judged, c.Forgotten, c.Grants, c.HandOffs, c.Waited,
		c.Blocks, c.Grown, c.Shared, c.Downgrades, c.Extensions, c.Sets, c.Kept, c.Parted, c.Releases, c.Breaks, c.Late, c.Withdrawn,
		c.Expiries, c.Bounces, c.Losses, c.Confirmations, c.Rests, c.Events)
}

// Add adds the counts of another history.
func (c *Counts) Add(d Counts) {
	c.Operations += d.Operations
	c.Unknown += d.Unknown
	c.Resources += d.Resources
	c.Judged += d.Judged
	c.Forgotten += d.Forgotten
	c.Grants += d.Grants
	c.HandOffs += d.HandOffs
	c.Waited += d.Waited
	c.Extensions += d.Extensions
	c.Sets += d.Sets
	c.Kept += d.Kept
	c.Parted += d.Parted
	c.Releases += d.Releases
	c.Breaks += d.Breaks
	c.Blocks += d.Blocks
	c.Grown += d.Grown
	c.Shared += d.Shared
	c.Downgrades += d.Downgrades
	c.Late += d.Late
	c.Withdrawn += d.Withdrawn
	c.Expiries += d.Expiries
	c.Bounces += d.Bounces
	c.Losses += d.Losses
	c.Confirmations += d.Confirmations
	c.Rests += d.Rests
	c.Events += d.Events
}

// count adds the operations of a resource, and what the journal has of it, if it is given.
func (c *Counts) count(operations []Operation, l *life) {
	c.Resources++
	c.Operations += len(operations)
	owners := make(map[uint64]string)
	said := make(map[uint64]bool)
	for i := range operations {
		o := &operations[i]
		switch {
		case o.Status == 0:
			c.Unknown++
		case o.granted():
			if owners[o.Shown.Token] == "" {
				c.Grants++
				c.Waited += count(o.Wait > 0)
				c.Shared += count(o.Shown.shared())
				c.Blocks += count(o.Shown.Tokens > 0)
			}
			owners[o.Shown.Token] = o.Owner
		case o.late():
			c.Late++
		case o.Kind == messages.OpAcquire && o.Status == messages.Status_CANCELLED:
			c.Withdrawn++
		case o.ofSession():
			c.Kept += count(o.Status == messages.Status_EXTENDED)
			c.Parted += count(o.Status == messages.Status_RELEASED)
		case o.Status == messages.Status_EXTENDED:
			c.Extensions++
			c.Downgrades += count(o.downgrades())
			c.Grown += count(o.Tokens > 1 && o.Tokens == o.Shown.Tokens)
		case o.Status == messages.Status_UPDATED:
			c.Sets++
		case o.Status == messages.Status_RELEASED && o.Kind == messages.OpBreak:
			c.Breaks++
		case o.Status == messages.Status_RELEASED:
			c.Releases++
		case o.Status == messages.Status_EXPIRED && l == nil && !said[o.Token]:
			said[o.Token] = true
			c.Expiries++
		}
	}
	b := blocksOf(operations)
	for token, owner := range owners {
		before := owners[b.named(token-1)]
		c.HandOffs += count(before != "" && before != owner)
	}
	if l == nil {
		return
	}
	for _, change := range l.changes {
		c.Expiries += count(change.GetKind() == messages.Event_EXPIRED)
		c.Bounces += count(change.bounced())
		c.Losses += count(change.HoldsBack())
		c.Rests += count(change.GetKind() != messages.Event_CONFIRMED && change.GetRestingMs() > 0)
		c.Confirmations += count(change.GetKind() == messages.Event_CONFIRMED && !change.lapses())
	}
}

func count(is bool) int {
	if is {
		return 1
	}
	return 0
}

// Floors are the least that has to happen in a history: below them it proves nothing. The zero value
// asks for nothing.
type Floors struct {
	Operations, Grants, HandOffs, Waited, Extensions, Sets, Kept, Parted, Releases, Breaks, Blocks, Grown, Shared,
	Downgrades, Late, Withdrawn, Expiries, Losses, Confirmations, Rests, Events int
}

// below says which floors the counts do not reach, empty if they reach all.
func (f Floors) below(c Counts) string {
	var short []string
	for _, floor := range []struct {
		what       string
		got, least int
	}{
		{"operations", c.Operations, f.Operations}, {"grants", c.Grants, f.Grants},
		{"grants to another owner", c.HandOffs, f.HandOffs}, {"grants out of the queue", c.Waited, f.Waited},
		{"extensions", c.Extensions, f.Extensions}, {"sets", c.Sets, f.Sets},
		{"leases kept by their session", c.Kept, f.Kept}, {"leases of sessions that were ended", c.Parted, f.Parted},
		{"releases", c.Releases, f.Releases},
		{"breaks", c.Breaks, f.Breaks}, {"blocks of tokens", c.Blocks, f.Blocks},
		{"blocks that grew", c.Grown, f.Grown}, {"shared leases", c.Shared, f.Shared},
		{"downgrades", c.Downgrades, f.Downgrades},
		{"late copies", c.Late, f.Late},
		{"withdrawn", c.Withdrawn, f.Withdrawn}, {"expiries", c.Expiries, f.Expiries},
		{"losses", c.Losses, f.Losses}, {"confirmations", c.Confirmations, f.Confirmations},
		{"rests", c.Rests, f.Rests},
		{"events", c.Events, f.Events},
	} {
		if floor.got < floor.least {
			short = append(short, fmt.Sprintf("%d %s, at least %d", floor.got, floor.what, floor.least))
		}
	}
	if len(short) == 0 {
		return ""
	}
	return "too little has happened to prove anything: " + strings.Join(short, "; ")
}
