package audit_test

import (
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/holdfast-io/holdfast/integration/audit"
	"github.com/holdfast-io/holdfast/messages"
	"github.com/holdfast-io/holdfast/messages/journal"
)

// withBlock returns the lease with so many tokens.
func withBlock(g *journal.Grant, tokens uint32) *journal.Grant {
	g = proto.CloneOf(g)
	g.Tokens = tokens
	return g
}

// tombstone is what a page keeps of a lease of a that was released long ago.
func tombstone(token, former uint64) *journal.Entry {
	return &journal.Entry{State: released, OwnerDigest: max(journal.Hash("a"), 1),
		Grant: &journal.Grant{Resource: "r", Token: token, Former: former}}
}

// downgradable is a lease of a with five tokens that is shared under another one.
func downgradable(to uint64) *book {
	return newBook().acquired(withBlock(lease("a", 1), 5)).downgraded(withBlock(lease("a", 1), 5),
		former(reader("a", to, to, 0), 1))
}

// Each pair of journals is distinguished by one rule about blocks of tokens, in its last record.
var blocks = []pair{
	{
		"the next grant is behind the last token of the block",
		newBook().acquired(withBlock(lease("a", 1), 5)).released(withBlock(lease("a", 1), 5)).acquired(lease("b", 6)),
		newBook().acquired(withBlock(lease("a", 1), 5)).released(withBlock(lease("a", 1), 5)).acquired(lease("b", 5)),
		"token 5 is granted behind token 5",
	},
	{
		"it is the next one behind the block",
		newBook().acquired(withBlock(lease("a", 1), 5)).released(withBlock(lease("a", 1), 5)).acquired(lease("b", 6)),
		newBook().acquired(withBlock(lease("a", 1), 5)).released(withBlock(lease("a", 1), 5)).acquired(lease("b", 7)),
		"token 7 is granted behind token 5, which is remembered",
	},
	{
		"it is behind all tokens that were added",
		newBook().acquired(withBlock(lease("a", 1), 5)).shared(extended, withBlock(lease("a", 1), 9)).released(
			withBlock(lease("a", 1), 9)).acquired(lease("b", 10)),
		newBook().acquired(withBlock(lease("a", 1), 5)).shared(extended, withBlock(lease("a", 1), 9)).released(
			withBlock(lease("a", 1), 9)).acquired(lease("b", 6)),
		"token 6 is granted behind token 9",
	},
	{
		"a new owner knows the whole block",
		newBook().acquired(withBlock(lease("a", 1), 5)).released(withBlock(lease("a", 1), 5)).opened().acquired(
			lease("b", 6)),
		newBook().acquired(withBlock(lease("a", 1), 5)).released(withBlock(lease("a", 1), 5)).opened().acquired(
			lease("b", 2)),
		"token 2 is granted behind token 5",
	},
	{
		"tokens are reserved behind the block",
		newBook().acquired(withBlock(lease("a", 1), 5)).released(withBlock(lease("a", 1), 5)).reserve(6),
		newBook().acquired(withBlock(lease("a", 1), 5)).released(withBlock(lease("a", 1), 5)).reserve(5),
		"reserved up to 5",
	},
	{
		"a block grows",
		newBook().acquired(withBlock(lease("a", 1), 5)).shared(extended, withBlock(lease("a", 1), 6)),
		newBook().acquired(withBlock(lease("a", 1), 5)).shared(extended, withBlock(lease("a", 1), 4)),
		"EXTENDED of token 1 with tokens 1 to 4, a shortest hold of 0 ms, where the lease has tokens 1 to 5",
	},
	{
		"a late extension adds tokens, too",
		newBook().acquired(lease("a", 1)).shared(updated, withBlock(lease("a", 1), 2)),
		newBook().acquired(withBlock(lease("a", 1), 2)).shared(updated, lease("a", 1)),
		"UPDATED of token 1 with tokens 1 to 1",
	},
	{
		"an end adds no tokens",
		newBook().acquired(withBlock(lease("a", 1), 5)).released(withBlock(lease("a", 1), 5)),
		newBook().acquired(withBlock(lease("a", 1), 5)).released(withBlock(lease("a", 1), 6)),
		"RELEASED of token 1 with tokens 1 to 6",
	},
	{
		"an extension adds no more than a million",
		newBook().acquired(withBlock(lease("a", 1), 1_000_000)).shared(extended, withBlock(lease("a", 1), 2_000_000)),
		newBook().acquired(withBlock(lease("a", 1), 1_000_000)).shared(extended, withBlock(lease("a", 1), 2_000_001)),
		"EXTENDED of token 1 with tokens 1 to 2000001",
	},
	{
		"a grant has no more than a million",
		newBook().acquired(withBlock(lease("a", 1), 1_000_000)),
		newBook().acquired(withBlock(lease("a", 1), 1_000_001)),
		"tokens 1 to 1000001, a shortest hold of 0 ms, which no lease has",
	},
	{
		"one token is no block",
		newBook().acquired(lease("a", 1)),
		newBook().acquired(withBlock(lease("a", 1), 1)),
		"which no lease has",
	},
	{
		"a shared lease has no block",
		newBook().acquired(reader("a", 1, 1, 0)),
		newBook().acquired(withBlock(reader("a", 1, 1, 0), 2)),
		"which no lease has",
	},
	{
		"a downgrade takes the token behind the block",
		downgradable(6),
		downgradable(2),
		"token 2 is granted behind token 5",
	},
	{
		"fences do not go back into a block",
		newBook().acquired(withBlock(lease("a", 1), 5)).released(withBlock(lease("a", 1), 5)).reserve(9).acquired(
			reader("b", 8, 7, 0)),
		newBook().acquired(withBlock(lease("a", 1), 5)).released(withBlock(lease("a", 1), 5)).reserve(9).acquired(
			reader("b", 8, 4, 0)),
		"token 8 has fence 4, behind fence 5",
	},
	{
		"a page has the block",
		newBook().acquired(withBlock(lease("a", 1), 5)).page(0, together(withBlock(lease("a", 1), 5))),
		newBook().acquired(withBlock(lease("a", 1), 5)).page(0, together(withBlock(lease("a", 1), 4))),
		"where the journal has token 1 of a",
	},
	{
		"a page that keeps little keeps the last token",
		newBook().acquired(withBlock(lease("a", 1), 5)).released(withBlock(lease("a", 1), 5)).page(0, tombstone(5, 1)),
		newBook().acquired(withBlock(lease("a", 1), 5)).released(withBlock(lease("a", 1), 5)).page(0, tombstone(1, 0)),
		"where the journal has token 1 of a",
	},
	{
		"and the one that names the lease",
		newBook().acquired(withBlock(lease("a", 1), 5)).released(withBlock(lease("a", 1), 5)).page(0,
			tombstone(5, 1)).page(0, tombstone(5, 1)).acquired(lease("b", 6)),
		newBook().acquired(withBlock(lease("a", 1), 5)).released(withBlock(lease("a", 1), 5)).page(0, tombstone(5, 0)),
		"where the journal has token 1 of a",
	},
	{
		"a floor covers the block",
		newBook().acquired(withBlock(lease("a", 1), 5)).released(withBlock(lease("a", 1), 5)).page(5),
		newBook().acquired(withBlock(lease("a", 1), 5)).released(withBlock(lease("a", 1), 5)).page(4),
		"the page forgets it",
	},
	{
		"a commit with a block has a new format",
		newBook().acquired(withBlock(lease("a", 1), 2)),
		newBook().acquired(withBlock(lease("a", 1), 2)).old(),
		"format 3, which has none of what is in it: it needs 4",
	},
	{
		"a page with one has a new format, too",
		newBook().acquired(withBlock(lease("a", 1), 2)).page(0, together(withBlock(lease("a", 1), 2))),
		newBook().acquired(withBlock(lease("a", 1), 2)).page(0, together(withBlock(lease("a", 1), 2))).old(),
		"format 3, which has none of what is in it: it needs 4",
	},
	{
		"a record without any needs none",
		newBook().acquired(lease("a", 1)).old(),
		newBook().acquired(resting(2000)).old(),
		"format 3, which has none of what is in it: it needs 4",
	},
}

// old is the journal whose last record has the format before.
func (b *book) old() *book {
	b.records[len(b.records)-1].Format = 3
	return b
}

// resting is a lease of half a second that is granted at 1 000 and has a shortest hold.
func resting(minHoldMs uint32) *journal.Grant {
	g := lease("a", 1)
	g.AcquiredAtMs, g.TtlMs, g.MinHoldMs = 1000, 500, minHoldMs
	return g
}

// taken is a book in which the lease is granted at 1 000.
func taken(g *journal.Grant) *book { return changeAt(newBook(), 1000, acquired, g, "") }

// leaves is a change at a time, which leaves so many milliseconds of the shortest hold.
func (b *book) leaves(left uint32, unixMillis int64, kind messages.Event_Kind, g *journal.Grant, reason string) *book {
	changeAt(b, unixMillis, kind, g, reason)
	b.records[len(b.records)-1].GetCommit().GetChanges()[0].RestingMs = left
	return b
}

// rested is a lease with a shortest hold of ten seconds that is granted at 1 000 and ends at 1 500.
func rested(kind messages.Event_Kind, g *journal.Grant) *book {
	return taken(g).leaves(9500, 1500, kind, g, "")
}

var (
	holding      = resting(10_000)
	holdingDelay = delayed(holding)
	holdingProof = confirming(holding)
)

// entryOf is the last lease as a page has it, with what was left of its shortest hold.
func entryOf(g *journal.Grant, state messages.Event_Kind, left uint32) *journal.Entry {
	return &journal.Entry{State: state, Grant: g, RestingMs: left}
}

const (
	broken    = messages.Event_BROKEN
	confirmed = messages.Event_CONFIRMED
)

// Each pair of journals is distinguished by one rule about shortest holds, in its last record.
var rests = []pair{
	{
		"nothing is granted before the shortest hold is over",
		rested(released, holding).leaves(0, 11_000, confirmed, holding, audit.RestOver).acquired(lease("b", 2)),
		rested(released, holding).acquired(lease("b", 2)),
		"token 2 is granted to b while the shortest hold of token 1 of a is not over",
	},
	{
		"nothing is reserved before that either",
		rested(released, holding).leaves(0, 11_000, confirmed, holding, audit.RestOver).reserve(9),
		rested(released, holding).reserve(9),
		"reserved up to 9",
	},
	{
		"a shortest hold is not over before its time",
		rested(released, holding).leaves(0, 11_000, confirmed, holding, audit.RestOver),
		rested(released, holding).leaves(0, 10_900, confirmed, holding, audit.RestOver),
		"CONFIRMED of token 1 at 10900, 100 ms before its time: the shortest hold is over",
	},
	{
		"an extension does not begin it anew",
		taken(holding).leaves(0, 1400, extended, holding, "").leaves(9500, 1500, released, holding, ""),
		taken(holding).leaves(0, 1400, extended, holding, "").leaves(9000, 1500, released, holding, ""),
		"RELEASED of token 1 at 1500 leaves 9000 ms of its shortest hold, 500 ms too few",
	},
	{
		"an expiry leaves it",
		rested(expired, holding),
		taken(holding).leaves(0, 2000, expired, holding, ""),
		"EXPIRED of token 1 at 2000 leaves 0 ms of its shortest hold, 9000 ms too few",
	},
	{
		"a break leaves it",
		rested(broken, holding),
		taken(holding).leaves(0, 1500, broken, holding, ""),
		"BROKEN of token 1 at 1500 leaves 0 ms of its shortest hold, 9500 ms too few",
	},
	{
		"a release leaves it, but for one that withdraws the request",
		taken(holding).leaves(0, 1500, released, holding, ""),
		taken(holding).leaves(1, 1500, released, holding, ""),
		"RELEASED of token 1 at 1500 leaves 1 ms of its shortest hold, 9499 ms too few",
	},
	{
		"a grant that reached no client leaves nothing",
		taken(holding).leaves(0, 1500, released, holding, audit.Undelivered),
		taken(holding).leaves(9500, 1500, released, holding, audit.Undelivered),
		"RELEASED of token 1 leaves 9500 ms of a shortest hold of 10000 ms",
	},
	{
		"no more is left than there was",
		taken(holding).leaves(10_000, 1500, released, holding, ""),
		taken(holding).leaves(10_001, 1500, released, holding, ""),
		"RELEASED of token 1 leaves 10001 ms of a shortest hold of 10000 ms",
	},
	{
		"what is held does not rest",
		taken(holding).leaves(0, 1500, extended, holding, ""),
		taken(holding).leaves(9500, 1500, extended, holding, ""),
		"EXTENDED of token 1 leaves 9500 ms",
	},
	{
		"a lease keeps its shortest hold",
		taken(holding).leaves(0, 1500, extended, holding, ""),
		taken(holding).leaves(0, 1500, extended, resting(20_000), ""),
		"a shortest hold of 20000 ms, where the lease has",
	},
	{
		"a shared lease has none",
		newBook().acquired(resting(10)),
		newBook().acquired(withMinHold(reader("a", 1, 1, 0))),
		"which no lease has",
	},
	{
		"a lease with one is not downgraded",
		newBook().acquired(lease("a", 1)).downgraded(lease("a", 1), former(reader("a", 2, 2, 0), 1)),
		newBook().acquired(resting(10)).downgraded(resting(10), former(reader("a", 2, 2, 0), 1)),
		"token 1 is downgraded, which has a shortest hold",
	},
	{
		"a new owner lets the rest run again",
		rested(released, holding).openedAt(5000).leaves(0, 14_500, confirmed, holding, audit.RestOver),
		rested(released, holding).openedAt(5000).leaves(0, 14_400, confirmed, holding, audit.RestOver),
		"CONFIRMED of token 1 at 14400, 100 ms before its time",
	},
	{
		"of what is held the time begins anew at a new owner",
		taken(holding).openedAt(1800).leaves(9800, 2000, released, holding, ""),
		taken(holding).openedAt(1800).leaves(9000, 2000, released, holding, ""),
		"RELEASED of token 1 at 2000 leaves 9000 ms of its shortest hold, 800 ms too few",
	},
	{
		"a confirmation ends a rest",
		rested(released, holding).leaves(0, 1600, confirmed, holding, "operator").acquired(lease("b", 2)),
		rested(released, holding).leaves(9400, 1600, confirmed, holding, "operator"),
		"token 1 rests for 9400 ms more when it is confirmed, of 9500",
	},
	{
		"a confirmed loss leaves the rest",
		rested(broken, holdingProof).leaves(9400, 1600, confirmed, holdingProof, "agent"),
		rested(broken, holdingProof).leaves(0, 1600, confirmed, holdingProof, "agent"),
		"the confirmed loss of token 1 leaves 0 ms of its shortest hold, 9400 ms too few",
	},
	{
		"which is not over before its time",
		rested(broken, holdingProof).leaves(9400, 1600, confirmed, holdingProof, "agent").leaves(0, 11_000, confirmed,
			holdingProof, audit.RestOver),
		rested(broken, holdingProof).leaves(9400, 1600, confirmed, holdingProof, "agent").leaves(0, 10_900, confirmed,
			holdingProof, audit.RestOver),
		"CONFIRMED of token 1 at 10900, 100 ms before its time",
	},
	{
		"nor by another confirmation",
		rested(broken, holdingProof).leaves(9400, 1600, confirmed, holdingProof, "agent").leaves(0, 11_000, confirmed,
			holdingProof, audit.RestOver),
		rested(broken, holdingProof).leaves(9400, 1600, confirmed, holdingProof, "agent").leaves(0, 11_000, confirmed,
			holdingProof, "agent"),
		"token 1 rests behind a loss that was confirmed, and is confirmed again",
	},
	{
		"and nothing is granted before it is over",
		rested(broken, holdingProof).leaves(9400, 1600, confirmed, holdingProof, "agent").leaves(0, 11_000, confirmed,
			holdingProof, audit.RestOver).acquired(lease("b", 2)),
		rested(broken, holdingProof).leaves(9400, 1600, confirmed, holdingProof, "agent").acquired(lease("b", 2)),
		"while the shortest hold of token 1 of a is not over",
	},
	{
		"what is to be confirmed is not over with the shortest hold",
		rested(released, holding).leaves(0, 11_000, confirmed, holding, audit.RestOver),
		rested(broken, holdingProof).leaves(0, 11_000, confirmed, holdingProof, audit.RestOver),
		"the shortest hold of token 1 is over, which holds nothing back, or not alone",
	},
	{
		"a loss is over with the later of both",
		rested(expired, delayedBy(holding, 20_000)).leaves(0, 22_000, confirmed, delayedBy(holding, 20_000),
			audit.DelayOver),
		rested(expired, holdingDelay).leaves(0, 4000, confirmed, holdingDelay, audit.DelayOver),
		"CONFIRMED of token 1 at 4000, 7000 ms before its time: the delay is over",
	},
	{
		"what rests is not taken back",
		rested(expired, holdingDelay).both(11_000, holdingDelay),
		rested(expired, holdingDelay).both(10_900, holdingDelay),
		"token 1 is taken back at 10900, 100 ms before its shortest hold is over",
	},
	{
		"a release is not taken back",
		rested(expired, holdingDelay).both(11_000, holdingDelay),
		rested(released, holdingDelay).both(11_000, holdingDelay),
		"token 1 is taken back, though",
	},
	{
		"an end by time leaves nothing",
		rested(released, holding).leaves(0, 11_000, confirmed, holding, audit.RestOver),
		rested(released, holding).leaves(1, 11_000, confirmed, holding, audit.RestOver),
		"token 1 rests for 1 ms more: the shortest hold is over",
	},
	{
		"a page has the rest",
		rested(released, holding).page(0, entryOf(holding, released, 9500)),
		rested(released, holding).page(0, entryOf(holding, released, 0)),
		"and 0 held, 1 lost",
	},
	{
		"a page has the rest of a confirmed loss",
		rested(broken, holdingProof).leaves(9400, 1600, confirmed, holdingProof, "agent").page(0, entryOf(holdingProof,
			confirmed, 9400)),
		rested(broken, holdingProof).leaves(9400, 1600, confirmed, holdingProof, "agent").page(0, entryOf(holdingProof,
			confirmed, 0)),
		"and 0 held, 1 lost",
	},
	{
		"a page has no rest that is over",
		rested(released, holding).leaves(0, 11_000, confirmed, holding, audit.RestOver).page(0, entryOf(holding, released,
			0)),
		rested(released, holding).leaves(0, 11_000, confirmed, holding, audit.RestOver).page(0, entryOf(holding, released,
			9500)),
		"and 0 held, 0 lost",
	},
	{
		"a page does not forget what rests",
		rested(released, holding).leaves(0, 11_000, confirmed, holding, audit.RestOver).page(1),
		rested(released, holding).page(1),
		"the page forgets it",
	},
}

func withMinHold(g *journal.Grant) *journal.Grant {
	g.MinHoldMs = 10
	return g
}

func delayedBy(g *journal.Grant, delayMs uint32) *journal.Grant {
	g = proto.CloneOf(g)
	g.DelayMs = delayMs
	return g
}

// both is the end of a loss that its owner takes back at a time.
func (b *book) both(unixMillis int64, g *journal.Grant) *book {
	b.over(g, audit.TakenBack, granting(again()))
	b.records[len(b.records)-1].GetCommit().AtMs = unixMillis
	return b
}

func TestBlocks(t *testing.T) { distinguish(t, blocks) }
func TestRests(t *testing.T)  { distinguish(t, rests) }

// pair is two journals that one rule distinguishes, in the last record.
type pair struct {
	rule           string
	legal, illegal *book
	wanted         string
}

func distinguish(t *testing.T, pairs []pair) {
	t.Helper()
	for _, pair := range pairs {
		t.Run(pair.rule, func(t *testing.T) {
			if found := violations(pair.legal.records); found != "" {
				t.Errorf("the legal one: %s", found)
			}
			last := len(pair.illegal.records) - 1
			if found := violations(pair.illegal.records[:last]); found != "" {
				t.Errorf("before the last record of the illegal one: %s", found)
			}
			if found := violations(pair.illegal.records); !strings.Contains(found, pair.wanted) {
				t.Errorf("%q does not say %q", found, pair.wanted)
			}
		})
	}
}
