package linear_test

import (
	"errors"
	"testing"

	"github.com/holdfast-io/holdfast/integration/linear"
	"github.com/holdfast-io/holdfast/messages"
)

// brokenDelayed is a lease with a delay of a second that is broken, and what comes behind that.
func brokenDelayed(lines ...line) []line {
	return append([]line{acquire("a", 0, 1).ttl(60_000).delayed().granted(1), breaks(1, 2, 3).released()}, lines...)
}

// brokenConfirming is the same of one whose loss has to be confirmed.
func brokenConfirming(lines ...line) []line {
	return append([]line{acquire("a", 0, 1).ttl(60_000).confirming().granted(1), breaks(1, 2, 3).released()}, lines...)
}

// waitingBehind is an answer that says how many wait.
func waitingBehind(l line, n uint32) line { l.Waiting = n; return l }

// Each pair of histories is distinguished by one rule about what lost leases hold back.
var holdPairs = []rule{
	{
		"nothing is granted before the delay is over",
		brokenDelayed(acquire("b", 4, 1003).wait(2000).granted(2)),
		brokenDelayed(acquire("b", 4, 980).wait(2000).granted(2)),
	},
	{
		"a delay begins with the loss, also if the lease runs out",
		[]line{acquire("a", 0, 1).delayed().granted(1), acquire("b", 1990, 2000).granted(2)},
		[]line{acquire("a", 0, 1).delayed().granted(1), acquire("b", 1970, 1980).granted(2)},
	},
	{
		"a break is answered alike when the delay is over",
		[]line{acquire("a", 0, 1).delayed().granted(1), breaks(1, 2000, 2001).released(),
			acquire("b", 2002, 2003).granted(2)},
		[]line{acquire("a", 0, 1).delayed().granted(1), breaks(1, 1980, 1990).released(),
			acquire("b", 2002, 2003).granted(2)},
	},
	{
		"a delay does not begin with a release",
		[]line{acquire("a", 0, 1).delayed().granted(1), release("a", 2, 3).released(), acquire("b", 4, 5).granted(2)},
		[]line{acquire("a", 0, 1).delayed().granted(1), breaks(1, 2, 3).released(), acquire("b", 4, 5).granted(2)},
	},
	{
		"the owner takes the resource back",
		brokenDelayed(acquire("a", 4, 5).granted(2)),
		brokenDelayed(acquire("b", 4, 5).granted(2)),
	},
	{
		"only the owner goes before those that wait",
		brokenDelayed(waitingBehind(acquire("a", 4, 5).granted(2), 1)),
		[]line{acquire("a", 0, 1).granted(1), breaks(1, 2, 3).released(),
			waitingBehind(acquire("a", 4, 5).granted(2), 1)},
	},
	{
		"the owner of a lease of a reentrant request does so, too",
		[]line{acquire("a", 0, 1).ttl(60_000).again().delayed().granted(1), breaks(1, 2, 3).released(),
			waitingBehind(acquire("a", 4, 5).granted(2), 2)},
		[]line{acquire("a", 0, 1).ttl(60_000).again().granted(1), breaks(1, 2, 3).released(),
			waitingBehind(acquire("a", 4, 5).granted(2), 2)},
	},
	{
		"the owner of a lease whose grant was not answered does so, too",
		[]line{acquire("a", 0, 1).ttl(60_000).delayed().unknown(), breaks(1, 2, 3).released(),
			waitingBehind(acquire("a", 4, 5).granted(2), 1)},
		[]line{acquire("a", 0, 1).ttl(60_000).unknown(), breaks(1, 2, 3).released(),
			waitingBehind(acquire("a", 4, 5).granted(2), 1)},
	},
	{
		"the owner does not take back what is to be confirmed",
		brokenConfirming(acquire("a", 4, 5).heldBack().endless()),
		brokenConfirming(acquire("a", 4, 5).granted(2)),
	},
	{
		"the owner does not learn that it is held back",
		brokenDelayed(acquire("b", 4, 5).heldBack()),
		brokenDelayed(acquire("a", 4, 5).heldBack()),
	},
	{
		"nothing is granted before the loss is confirmed",
		brokenConfirming(confirms(1, 4, 5).released(), acquire("b", 6, 7).granted(2)),
		brokenConfirming(acquire("b", 9006, 9007).granted(2)),
	},
	{
		"a confirmation of another token confirms nothing",
		brokenConfirming(confirms(2, 4, 5).shows(staleToken, "a", 1), acquire("b", 6, 7).heldBack().endless()),
		brokenConfirming(confirms(2, 4, 5).released()),
	},
	{
		"a confirmation of the token is not refused",
		brokenConfirming(confirms(1, 4, 5).released()),
		brokenConfirming(confirms(1, 4, 5).shows(staleToken, "a", 1)),
	},
	{
		"a lease that is held is not confirmed",
		[]line{acquire("a", 0, 1).confirming().granted(1), confirms(1, 2, 3).shows(staleToken, "a", 1)},
		[]line{acquire("a", 0, 1).confirming().granted(1), confirms(1, 2, 3).released()},
	},
	{
		"a lease that may have run out is held until it is lost",
		[]line{acquire("a", 0, 1).delayed().granted(1), confirms(1, 1500, 1501).shows(staleToken, "a", 1),
			extend("a", 1502, 1503).token(1).extended(1)},
		[]line{acquire("a", 0, 1).delayed().granted(1), confirms(1, 1500, 1501).released(),
			extend("a", 1502, 1503).token(1).extended(1)},
	},
	{
		"a confirmation is repeated until the next grant",
		brokenConfirming(confirms(1, 4, 5).released(), confirms(1, 6, 7).released(), acquire("b", 8, 9).granted(2),
			confirms(1, 10, 11).shows(staleToken, "b", 2)),
		brokenConfirming(confirms(1, 4, 5).released(), acquire("b", 8, 9).granted(2), confirms(1, 10, 11).released()),
	},
	{
		"a repeated confirmation is not refused",
		brokenConfirming(confirms(1, 4, 5).released(), confirms(1, 6, 7).released()),
		brokenConfirming(confirms(1, 4, 5).released(), confirms(1, 6, 7).gets(notHeld)),
	},
	{
		"a resource that is held back is not free",
		brokenDelayed(get(4, 5).heldBack(), get(1010, 1011).free(1)),
		brokenDelayed(get(4, 5).free(1)),
	},
	{
		"a resource is not held back when the loss is confirmed",
		brokenConfirming(confirms(1, 4, 5).released(), get(6, 7).free(1)),
		brokenConfirming(confirms(1, 4, 5).released(), get(6, 7).heldBack().endless()),
	},
	{
		"a lease without a delay holds nothing back",
		[]line{acquire("a", 0, 1).granted(1), breaks(1, 2, 3).released(), get(4, 5).free(1)},
		[]line{acquire("a", 0, 1).granted(1), breaks(1, 2, 3).released(), get(4, 5).heldBack()},
	},
	{
		"a delay has an end, and what is to be confirmed has none",
		brokenConfirming(get(4, 5).heldBack().endless()),
		brokenConfirming(get(4, 5).heldBack()),
	},
	{
		"a request that waits does not learn that it is held back",
		brokenDelayed(acquire("b", 4, 104).wait(100).gets(timeout)),
		brokenDelayed(acquire("b", 4, 5).wait(100).heldBack()),
	},
	{
		"a lost lease is not held",
		brokenDelayed(ask(messages.OpRelease, "a", 4, 5).token(1).gets(expired)),
		brokenDelayed(acquire("b", 4, 5).held("a", 1)),
	},
}

// An owner that has lost a lease is refused only by a node that may be full, and another one never gets it.
func TestFullNodeLetsNobodyTakeBack(t *testing.T) {
	full := linear.Terms{Full: true}
	refused := history(brokenDelayed(acquire("a", 4, 5).heldBack()))
	if _, err := linear.Check(t.Context(), refused, nil, nil, full); err != nil {
		t.Errorf("the owner is refused by a full node: %v", err)
	}
	another := history(brokenDelayed(acquire("b", 4, 5).granted(2)))
	if _, err := linear.Check(t.Context(), another, nil, nil, full); !errors.Is(err, linear.ErrViolated) {
		t.Errorf("another owner gets it: %v", err)
	}
}

func TestHold(t *testing.T) { distinguish(t, holdPairs) }
