package linear_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/holdfast-io/holdfast/integration/linear"
	"github.com/holdfast-io/holdfast/messages"
	"github.com/holdfast-io/holdfast/messages/journal"
)

// block says how many tokens a request wants, and that its answer shows them.
func (l line) block(n uint32) line { l.Tokens, l.Shown.Tokens = n, n; return l }

// of says how many tokens the lease in the answer has.
func (l line) of(n uint32) line { l.Shown.Tokens = n; return l }

// minHold is a shortest hold of a second.
func (l line) minHold() line { l.MinHold = 1000; return l }

// five is a lease of a with the tokens 1 to 5, and what comes behind it.
func five(lines ...line) []line {
	return append([]line{acquire("a", 0, 1).granted(1).block(5)}, lines...)
}

// rested is a lease of a with a shortest hold that is released at once, and what comes behind that.
func rested(lines ...line) []line {
	return append([]line{acquire("a", 0, 1).minHold().granted(1), release("a", 2, 3).token(1).released()}, lines...)
}

// rule is two histories that it distinguishes.
type rule struct {
	rule           string
	legal, illegal []line
}

var blockRules = []rule{
	{
		"the next grant is behind the block",
		five(release("a", 2, 3).released(), acquire("b", 4, 5).granted(6)),
		five(release("a", 2, 3).released(), acquire("b", 4, 5).granted(2)),
	},
	{
		"right behind it",
		five(release("a", 2, 3).released(), acquire("b", 4, 5).granted(6)),
		five(release("a", 2, 3).released(), acquire("b", 4, 5).granted(7)),
	},
	{
		"it is behind what was added",
		five(extend("a", 2, 3).extended(1).block(9), release("a", 4, 5).released(), acquire("b", 6, 7).granted(10)),
		five(extend("a", 2, 3).extended(1).block(9), release("a", 4, 5).released(), acquire("b", 6, 7).granted(6)),
	},
	{
		"a late extension adds tokens, and nothing else",
		five(extend("a", 2, 3).ttl(5000).extended(1).of(5).order(2, 2),
			extend("a", 4, 5).ttl(100).extended(1).block(9).order(1, 2), get(2000, 2001).held("a", 1).of(9)),
		five(extend("a", 2, 3).ttl(5000).extended(1).of(5).order(2, 2),
			extend("a", 4, 5).ttl(100).extended(1).block(9).order(1, 2), get(2000, 2001).held("a", 1).of(5)),
	},
	{
		"a smaller number changes nothing",
		five(extend("a", 2, 3).extended(1).block(3).of(5)),
		five(extend("a", 2, 3).extended(1).block(3)),
	},
	{
		"a request without a block gets one token",
		[]line{acquire("a", 0, 1).granted(1)},
		[]line{acquire("a", 0, 1).granted(1).of(5)},
	},
	{
		"an extension without a number adds nothing",
		five(extend("a", 2, 3).extended(1).of(5)),
		five(extend("a", 2, 3).extended(1).of(6)),
	},
	{
		"a growth without an answer may have happened",
		five(extend("a", 2, 3).block(9).of(0).unknown(), release("a", 4, 5).released(), acquire("b", 6, 7).granted(10)),
		five(extend("a", 2, 3).block(9).of(0).unknown(), release("a", 4, 5).released(), acquire("b", 6, 7).granted(11)),
	},
	{
		"a reentrant request gets no lease with a block",
		five(acquire("a", 2, 3).again().held("a", 1).of(5)),
		five(acquire("a", 2, 3).again().granted(1).of(5)),
	},
	{
		"a repeated request gets its block",
		five(acquire("a", 2, 3).id("a-0").granted(1).block(5)),
		five(acquire("a", 2, 3).id("a-0").granted(1).block(5).of(4)),
	},
	{
		"what is free shows the last token",
		five(release("a", 2, 3).released(), get(4, 5).free(5)),
		five(release("a", 2, 3).released(), get(4, 5).free(1)),
	},
	{
		"a lease is broken by any of its tokens",
		five(breaks(5, 2, 3).released(), get(4, 5).free(5)),
		five(breaks(6, 2, 3).released(), get(4, 5).free(5)),
	},
	{
		"a break by one of them is not refused",
		five(breaks(3, 2, 3).released()),
		five(breaks(3, 2, 3).shows(staleToken, "a", 1).of(5)),
	},
	{
		"its owner names it by the first one",
		five(release("a", 2, 3).token(3).shows(staleToken, "a", 1).of(5)),
		five(release("a", 2, 3).token(3).released()),
	},
	{
		"a downgrade takes the token behind the block, and leaves none",
		five(extend("a", 2, 3).token(1).limit(3).extended(6).as(3, "0", 6), get(4, 5).held("a", 6).as(3, "0", 6)),
		five(extend("a", 2, 3).token(1).limit(3).extended(2).as(3, "0", 2)),
	},
	{
		"the owner takes back what it has lost, behind the block",
		[]line{acquire("a", 0, 1).delayed().granted(1).block(5), breaks(2, 3, 4).released(),
			waitingBehind(acquire("a", 5, 6).granted(6), 1)},
		[]line{acquire("a", 0, 1).granted(1).block(5), breaks(2, 3, 4).released(),
			waitingBehind(acquire("a", 5, 6).granted(6), 1)},
	},
}

var restRules = []rule{
	{
		"nothing is granted before the shortest hold is over",
		rested(acquire("b", 4, 1003).wait(2000).granted(2)),
		rested(acquire("b", 4, 980).wait(2000).granted(2)),
	},
	{
		"it goes on when the lease runs out",
		[]line{acquire("a", 0, 1).ttl(100).minHold().granted(1), acquire("b", 1000, 1001).granted(2)},
		[]line{acquire("a", 0, 1).ttl(100).minHold().granted(1), acquire("b", 500, 501).granted(2)},
	},
	{
		"and when it is broken",
		[]line{acquire("a", 0, 1).minHold().granted(1), breaks(1, 2, 3).released(), acquire("b", 1000, 1001).granted(2)},
		[]line{acquire("a", 0, 1).minHold().granted(1), breaks(1, 2, 3).released(), acquire("b", 500, 501).granted(2)},
	},
	{
		"a lease without one leaves nothing",
		[]line{acquire("a", 0, 1).granted(1), release("a", 2, 3).released(), get(4, 5).free(1)},
		[]line{acquire("a", 0, 1).granted(1), release("a", 2, 3).released(), get(4, 5).heldBack()},
	},
	{
		"a resource that rests is not free",
		rested(get(4, 5).heldBack()),
		rested(get(4, 5).free(1)),
	},
	{
		"it is free when that is over, and then stays so",
		rested(get(1000, 1001).free(1), get(1002, 1003).free(1)),
		rested(get(1000, 1001).free(1), get(1002, 1003).heldBack()),
	},
	{
		"a rest has an end",
		rested(get(4, 5).heldBack()),
		rested(get(4, 5).heldBack().endless()),
	},
	{
		"its owner does not get it earlier",
		rested(acquire("a", 4, 5).heldBack()),
		rested(acquire("a", 4, 5).granted(2)),
	},
	{
		"nor takes it back",
		[]line{acquire("a", 0, 1).minHold().delayed().granted(1), breaks(1, 2, 3).released(),
			acquire("a", 4, 5).heldBack()},
		[]line{acquire("a", 0, 1).minHold().delayed().granted(1), breaks(1, 2, 3).released(),
			acquire("a", 4, 5).granted(2)},
	},
	{
		"a loss holds back until the later of both",
		[]line{acquire("a", 0, 1).minHold().delayed().granted(1), breaks(1, 600, 601).released(),
			acquire("b", 1600, 1601).granted(2)},
		[]line{acquire("a", 0, 1).minHold().delayed().granted(1), breaks(1, 600, 601).released(),
			acquire("b", 1100, 1101).granted(2)},
	},
	{
		"a request that was withdrawn leaves nothing",
		[]line{acquire("a", 0, 1).minHold().granted(1), release("a", 2, 3).id("a-0").released(), get(4, 5).free(1)},
		[]line{acquire("a", 0, 1).minHold().granted(1), release("a", 2, 3).id("a-0").released(), get(4, 5).heldBack()},
	},
	{
		"a confirmation ends a rest",
		rested(confirms(1, 4, 5).released(), acquire("b", 6, 7).granted(2)),
		rested(confirms(1, 4, 5).released(), acquire("b", 6, 7).heldBack()),
	},
	{
		"one of another token does not",
		rested(confirms(2, 4, 5).shows(staleToken, "a", 1), acquire("b", 6, 7).heldBack()),
		rested(confirms(2, 4, 5).shows(staleToken, "a", 1), acquire("b", 6, 7).granted(2)),
	},
	{
		"a confirmed loss leaves the rest",
		[]line{acquire("a", 0, 1).minHold().confirming().granted(1), breaks(1, 2, 3).released(),
			confirms(1, 4, 5).released(), acquire("b", 6, 7).heldBack(), acquire("b", 1000, 1001).granted(2)},
		[]line{acquire("a", 0, 1).minHold().confirming().granted(1), breaks(1, 2, 3).released(),
			confirms(1, 4, 5).released(), acquire("b", 6, 7).granted(2)},
	},
	{
		"which another confirmation does not end",
		[]line{acquire("a", 0, 1).minHold().confirming().granted(1), breaks(1, 2, 3).released(),
			confirms(1, 4, 5).released(), confirms(1, 6, 7).released(), get(8, 9).heldBack()},
		[]line{acquire("a", 0, 1).minHold().confirming().granted(1), breaks(1, 2, 3).released(),
			confirms(1, 4, 5).released(), confirms(1, 6, 7).released(), get(8, 9).free(1)},
	},
	{
		"what rests is not extended",
		rested(extend("a", 4, 5).token(1).gets(notHeld)),
		rested(extend("a", 4, 5).token(1).extended(1)),
	},
	{
		"nor held",
		rested(breaks(1, 4, 5).gets(notHeld)),
		rested(acquire("b", 4, 5).held("a", 1)),
	},
	{
		"a request that waits does not learn that it rests",
		rested(acquire("b", 4, 104).wait(100).gets(timeout)),
		rested(acquire("b", 4, 5).wait(100).heldBack()),
	},
	{
		"a lease with one is not downgraded",
		[]line{acquire("a", 0, 1).granted(1), extend("a", 2, 3).token(1).limit(3).extended(2).as(3, "0", 2)},
		[]line{acquire("a", 0, 1).minHold().granted(1), extend("a", 2, 3).token(1).limit(3).extended(2).as(3, "0", 2)},
	},
}

func TestBlocks(t *testing.T) { distinguish(t, blockRules) }
func TestRests(t *testing.T)  { distinguish(t, restRules) }

func distinguish(t *testing.T, rules []rule) {
	t.Helper()
	for _, pair := range rules {
		t.Run(pair.rule, func(t *testing.T) {
			if _, err := linear.Check(t.Context(), history(pair.legal), nil, nil, linear.Terms{}); err != nil {
				t.Errorf("the legal one: %v", err)
			}
			if _, err := linear.Check(t.Context(), history(pair.illegal), nil, nil, linear.Terms{}); !errors.Is(err,
				linear.ErrViolated) {
				t.Errorf("the illegal one: %v", err)
			}
		})
	}
}

// A token of a block that another lease has is found by arithmetic alone.
func TestOverlap(t *testing.T) {
	t.Parallel()
	script := five(release("a", 2, 3).released(), acquire("b", 4, 5).granted(3))
	report, _ := linear.Check(t.Context(), history(script), nil, nil, linear.Terms{})
	if !said(report, "tokens", "token 3 is of the block 1 to 5") {
		t.Errorf("%v", report.Violations)
	}
}

// said reports whether a check has found something.
func said(r *linear.Report, check, text string) bool {
	for _, v := range r.Violations {
		if v.Check == check && strings.Contains(v.Text, text) {
			return true
		}
	}
	return false
}

// grant is a lease of the request a-0 of a, as a commit has it.
func grant(ttl, tokens, minHoldMs uint32) *journal.Grant {
	return &journal.Grant{Resource: theResource, Owner: "a", Token: 1, TtlMs: ttl, RequestId: "a-0", Tokens: tokens,
		MinHoldMs: minHoldMs}
}

// makes is a commit with one change, of which so many milliseconds of a shortest hold are left.
func (b *book) makes(kind messages.Event_Kind, g *journal.Grant, restingMs uint32) *book {
	return b.put(&journal.Commit{Changes: []*journal.Change{{Kind: kind, Grant: g, RestingMs: restingMs}}})
}

// numbered is the lease with an extension of the number 2.
func numbered(g *journal.Grant) *journal.Grant {
	g.ExtendOrder = 2
	return g
}

const (
	wasAcquired = messages.Event_ACQUIRED
	wasUpdated  = messages.Event_UPDATED
)

// blockLedgers are as ledgers.
var blockLedgers = []ledger{
	{
		name: "a block that grows, and the next grant",
		script: five(extend("a", 2, 3).token(1).ttl(1001).extended(1).block(9), release("a", 4, 5).token(1).released(),
			acquire("b", 6, 7).granted(10)),
		journal: openBook().makes(wasAcquired, grant(1000, 5, 0), 0).makes(wasExtended, grant(1001, 9, 0), 0).makes(
			wasReleased, grant(1001, 9, 0), 0).acquired("b", 10, "b-6"),
	},
	{
		name: "a block that grows without an answer",
		script: five(extend("a", 2, 3).token(1).ttl(1001).block(9).of(0).unknown(),
			release("a", 4, 5).token(1).released(), acquire("b", 6, 7).granted(10)),
		journal: openBook().makes(wasAcquired, grant(1000, 5, 0), 0).makes(wasExtended, grant(1001, 9, 0), 0).makes(
			wasReleased, grant(1001, 9, 0), 0).acquired("b", 10, "b-6"),
	},
	{
		name: "a late extension that adds tokens",
		script: five(extend("a", 2, 3).token(1).ttl(1001).extended(1).of(5).order(2, 2),
			extend("a", 4, 5).token(1).ttl(1002).extended(1).block(9).order(1, 2)),
		journal: openBook().makes(wasAcquired, grant(1000, 5, 0), 0).makes(wasExtended, numbered(grant(1001, 5, 0)),
			0).makes(wasUpdated, numbered(grant(1001, 9, 0)), 0),
	},
	{
		name: "a late extension that adds tokens without an answer",
		script: five(extend("a", 2, 3).token(1).ttl(1001).extended(1).of(5).order(2, 2),
			extend("a", 4, 5).token(1).ttl(1002).block(9).of(0).order(1, 0).unknown(), get(6, 7).held("a", 1).of(9)),
		journal: openBook().makes(wasAcquired, grant(1000, 5, 0), 0).makes(wasExtended, numbered(grant(1001, 5, 0)),
			0).makes(wasUpdated, numbered(grant(1001, 9, 0)), 0),
	},
	{
		name:    "tokens that nobody asked for",
		script:  five(extend("a", 2, 3).token(1).ttl(1001).extended(1).of(5)),
		journal: openBook().makes(wasAcquired, grant(1000, 5, 0), 0).makes(wasExtended, grant(1001, 9, 0), 0),
		check:   "answers", wanted: "no request has asked for this",
	},
	{
		name:    "tokens that nobody asked for, beside an extension",
		script:  five(extend("a", 2, 3).token(1).ttl(1001).extended(1).of(5)),
		journal: openBook().makes(wasAcquired, grant(1000, 5, 0), 0).makes(wasUpdated, grant(1000, 9, 0), 0),
		check:   "answers", wanted: "no request has asked for this",
	},
	{
		name: "a token of the block in another grant",
		script: five(release("a", 2, 3).token(1).released(),
			acquire("b", 4, 5).granted(2)),
		journal: openBook().makes(wasAcquired, grant(1000, 5, 0), 0).makes(wasReleased, grant(1000, 5, 0), 0).acquired("b", 2,
			"b-4"),
		check: "journal", wanted: "token 2 is granted behind token 5",
	},
	{
		name:   "a break by another token of the block",
		script: five(breaks(4, 2, 3).released(), get(4, 5).free(5)),
		journal: openBook().makes(wasAcquired, grant(1000, 5, 0), 0).put(&journal.Commit{Changes: []*journal.Change{{
			Kind: wasBroken, Grant: grant(1000, 5, 0), Reason: "2"}}}),
	},
	{
		name:    "a release that leaves the rest",
		script:  rested(get(4, 5).heldBack()),
		journal: openBook().makes(wasAcquired, grant(1000, 0, 1000), 0).makes(wasReleased, grant(1000, 0, 1000), 998),
	},
	{
		name:    "a release that leaves nothing",
		script:  rested(get(4, 5).free(1)),
		journal: openBook().makes(wasAcquired, grant(1000, 0, 1000), 0).makes(wasReleased, grant(1000, 0, 1000), 0),
		check:   "answers", wanted: "before its shortest hold was over, of which it leaves nothing",
	},
	{
		name: "a withdrawal that leaves nothing",
		script: []line{acquire("a", 0, 1).minHold().granted(1), release("a", 2, 3).id("a-0").released(),
			get(4, 5).free(1)},
		journal: openBook().makes(wasAcquired, grant(1000, 0, 1000), 0).makes(wasReleased, grant(1000, 0, 1000), 0),
	},
	{
		name:    "a withdrawal that leaves a rest",
		script:  []line{acquire("a", 0, 1).minHold().granted(1), release("a", 2, 3).id("a-0").released()},
		journal: openBook().makes(wasAcquired, grant(1000, 0, 1000), 0).makes(wasReleased, grant(1000, 0, 1000), 998),
		check:   "answers", wanted: "the request was withdrawn, and leaves a rest",
	},
	{
		name:   "a grant during a rest",
		script: rested(acquire("b", 500, 501).granted(2)),
		journal: openBook().makes(wasAcquired, grant(1000, 0, 1000), 0).makes(wasReleased, grant(1000, 0, 1000), 998).
			acquired("b", 2, "b-500"),
		check: "journal", wanted: "token 2 is granted to b while the shortest hold of token 1 of a is not over",
	},
	{
		name:   "a grant during a rest, in a journal that does not show it",
		script: rested(acquire("b", 500, 501).granted(2)),
		journal: openBook().makes(wasAcquired, grant(1000, 0, 0), 0).makes(wasReleased, grant(1000, 0, 0), 0).acquired("b", 2,
			"b-500"),
		check: "model", wanted: "no order of its operations explains all answers",
	},
}

func TestJournalsOfBlocks(t *testing.T) {
	t.Parallel()
	judge(t, blockLedgers)
}
