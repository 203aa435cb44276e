package audit_test

import (
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/holdfast-io/holdfast/integration/audit"
	"github.com/holdfast-io/holdfast/messages"
	"github.com/holdfast-io/holdfast/messages/journal"
)

// delayed returns the lease with a delay of two seconds, and confirming with the need to confirm its loss.
func delayed(g *journal.Grant) *journal.Grant {
	g = proto.CloneOf(g)
	g.DelayMs = 2000
	return g
}

func confirming(g *journal.Grant) *journal.Grant {
	g = proto.CloneOf(g)
	g.Confirm = true
	return g
}

func (b *book) broken(grants ...*journal.Grant) *book {
	return b.shared(messages.Event_BROKEN, grants...)
}

// over is a commit with the end of a hold, and what comes behind it.
func (b *book) over(g *journal.Grant, reason string, next ...*journal.Change) *book {
	changes := []*journal.Change{{Kind: messages.Event_CONFIRMED, Grant: g, Reason: reason}}
	return b.put(&journal.Commit{Changes: append(changes, next...)})
}

// lostAlone is an entry with an exclusive lease that was lost.
func lostAlone(g *journal.Grant, how messages.Event_Kind) *journal.Entry {
	unnamed := proto.CloneOf(g)
	unnamed.Resource = ""
	return &journal.Entry{State: how, Grant: g, Lost: []*journal.Loss{{Grant: unnamed, How: how}}}
}

// again is a lease of another request of a.
func again() *journal.Grant {
	g := lease("a", 2)
	g.RequestId += "2"
	return g
}

// changeAt is a change at a time by the owner's clock.
func changeAt(b *book, unixMillis int64, kind messages.Event_Kind, g *journal.Grant, reason string) *book {
	return b.put(&journal.Commit{AtMs: unixMillis, Changes: []*journal.Change{{Kind: kind, Grant: g, Reason: reason}}})
}

// ranOut is a lease with a delay that is granted at 1 000 and expires at 2 000.
func ranOut() (*book, *journal.Grant) {
	g := delayed(lease("a", 1))
	g.AcquiredAtMs = 1000
	return changeAt(changeAt(newBook(), 1000, acquired, g, ""), 2000, expired, g, ""), g
}

// delayEndsAt is the end of its delay at a time, by its owner or by one that opens the shard before.
func delayEndsAt(unixMillis, opened int64) *book {
	b, g := ranOut()
	if opened > 0 {
		b = b.openedAt(opened)
	}
	return changeAt(b, unixMillis, messages.Event_CONFIRMED, g, audit.DelayOver)
}

// granting is the grant of a lease, as a change.
func granting(g *journal.Grant) *journal.Change { return &journal.Change{Kind: acquired, Grant: g} }

// lostLease is a book in which the lease was granted and broken.
func lostLease(g *journal.Grant) *book { return newBook().acquired(g).broken(g) }

// Each pair of journals is distinguished by one rule, in its last record.
var losing = []pair{
	{
		"nothing is granted while a lost lease holds back",
		lostLease(confirming(lease("a", 1))).over(confirming(lease("a", 1)), "agent: killed", granting(lease("b", 2))),
		lostLease(confirming(lease("a", 1))).acquired(lease("b", 2)),
		"token 2 is granted to b while the lost token 1 of a holds the resource back",
	},
	{
		"nothing is granted beside a lost lease",
		readers().broken(reader("a", 1, 1, 0)).acquired(reader("c", 3, 1, 0)),
		newBook().acquired(delayed(reader("a", 1, 1, 0)),
			reader("b", 2, 1, 1)).broken(delayed(reader("a", 1, 1, 0))).acquired(reader("c", 3, 1, 0)),
		"token 3 is granted to c while the lost token 1 of a holds the resource back",
	},
	{
		"only a lost lease is confirmed",
		lostLease(delayed(lease("a", 1))).over(delayed(lease("a", 1)), "agent"),
		lostLease(lease("a", 1)).over(lease("a", 1), "agent"),
		"CONFIRMED of token 1, which is not lost",
	},
	{
		"a loss is confirmed by its own token",
		newBook().acquired(delayed(reader("a", 1, 1, 0)),
			reader("b", 2, 1, 1)).broken(delayed(reader("a", 1, 1, 0))).over(delayed(reader("a", 1, 1, 0)), "agent"),
		newBook().acquired(delayed(reader("a", 1, 1, 0)),
			reader("b", 2, 1, 1)).broken(delayed(reader("a", 1, 1, 0))).over(reader("b", 2, 1, 1), "agent"),
		"CONFIRMED of token 2, which is not lost",
	},
	{
		"a hold ends once",
		lostLease(delayed(lease("a", 1))).over(delayed(lease("a", 1)), "agent").acquired(lease("b", 2)),
		lostLease(delayed(lease("a", 1))).over(delayed(lease("a", 1)), "agent").over(delayed(lease("a", 1)), "agent"),
		"CONFIRMED of token 1, which is not lost",
	},
	{
		"only a delay is over by itself",
		lostLease(delayed(lease("a", 1))).over(delayed(lease("a", 1)), audit.DelayOver),
		lostLease(confirming(lease("a", 1))).over(confirming(lease("a", 1)), audit.DelayOver),
		"the delay of token 1 is over, which has none",
	},
	{
		"a delay is not over before its time",
		delayEndsAt(4000, 0),
		delayEndsAt(3900, 0),
		"CONFIRMED of token 1 at 3900, 100 ms before its time: the delay is over",
	},
	{
		"a new owner begins the delay anew",
		delayEndsAt(5500, 3500),
		delayEndsAt(5400, 3500),
		"CONFIRMED of token 1 at 5400, 100 ms before its time: the delay is over",
	},
	{
		"a lost lease is taken back by its owner",
		lostLease(delayed(lease("a", 1))).over(delayed(lease("a", 1)), audit.TakenBack, granting(again())),
		lostLease(delayed(lease("a", 1))).over(delayed(lease("a", 1)), audit.TakenBack, granting(lease("b", 2))),
		"token 1 is taken back, and nothing is granted to a",
	},
	{
		"a lost lease is taken back for an ephemeral one, whose token is reserved",
		lostLease(delayed(lease("a", 1))).over(delayed(lease("a", 1)), audit.TakenBack,
			&journal.Change{Resource: "r", Reserved: 9}),
		lostLease(delayed(lease("a", 1))).over(delayed(lease("a", 1)), audit.TakenBack,
			&journal.Change{Resource: "s", Reserved: 9}),
		"token 1 is taken back, and nothing is granted to a",
	},
	{
		"what is to be confirmed is not taken back",
		lostLease(delayed(lease("a", 1))).over(delayed(lease("a", 1)), audit.TakenBack, granting(again())),
		lostLease(confirming(lease("a", 1))).over(confirming(lease("a", 1)), audit.TakenBack, granting(again())),
		"token 1 is taken back, though its loss had to be confirmed",
	},
	{
		"a hold ends as the lease that was lost",
		lostLease(delayed(lease("a", 1))).over(delayed(lease("a", 1)), "agent"),
		lostLease(delayed(lease("a", 1))).over(confirming(lease("a", 1)), "agent"),
		"CONFIRMED of ",
	},
	{
		"a page has what is held back",
		lostLease(delayed(lease("a", 1))).page(0, lostAlone(delayed(lease("a", 1)), messages.Event_BROKEN)),
		lostLease(delayed(lease("a", 1))).page(0, &journal.Entry{State: messages.Event_BROKEN,
			Grant: delayed(lease("a", 1))}),
		"and 0 held, 1 lost",
	},
	{
		"a page has how it was lost",
		lostLease(delayed(lease("a", 1))).page(0, lostAlone(delayed(lease("a", 1)), messages.Event_BROKEN)),
		lostLease(delayed(lease("a", 1))).page(0, lostAlone(delayed(lease("a", 1)), messages.Event_EXPIRED)),
		"and 0 held, 1 lost",
	},
	{
		"a page has no hold that is over",
		lostLease(delayed(lease("a", 1))).over(delayed(lease("a", 1)), "agent").page(0,
			&journal.Entry{State: messages.Event_CONFIRMED, Grant: delayed(lease("a", 1))}),
		lostLease(delayed(lease("a", 1))).over(delayed(lease("a", 1)), "agent").page(0,
			lostAlone(delayed(lease("a", 1)), messages.Event_CONFIRMED)),
		"and 0 held, 0 lost",
	},
	{
		"a page does not forget what is held back",
		lostLease(lease("a", 1)).page(1),
		lostLease(delayed(lease("a", 1))).page(1),
		"the page forgets it",
	},
}

func TestLosing(t *testing.T) { distinguish(t, losing) }
