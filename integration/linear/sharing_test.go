package linear_test

import (
	"math"
	"slices"
	"testing"

	"github.com/holdfast-io/holdfast/messages"
)

// limit is what a request tolerates; it takes one permit if it does not take two.
// readers is the limit of a reader.
const readers = math.MaxUint32

func (l line) limit(n uint32) line { l.Limit = n; return l }

func (l line) twoPermits() line { l.Permits = 2; return l }

// as is how the lease is shown to be shared.
func (l line) as(limit uint32, slots string, phase uint64) line {
	l.Shown.Limit, l.Shown.Slots, l.Shown.Phase = limit, slots, phase
	return l
}

// listed are the holders in the answer.
func (l line) listed(held uint32, all ...line) line {
	l.Held = held
	for _, by := range all {
		l.Holders = append(l.Holders, by.Shown)
	}
	l.Shown = l.Holders[0]
	l.Status = messages.Status_HELD
	return l
}

// waiting is how many the answer says wait.
func (l line) waiting(n uint32) line { l.Waiting = n; return l }

// reads is a reader's grant.
func reads(owner string, call, back int, token, phase uint64, slot string) line {
	return acquire(owner, call, back).limit(readers).granted(token).as(readers, slot, phase)
}

var (
	readerA = reads("a", 0, 1, 1, 1, "0")
	readerB = reads("b", 2, 3, 2, 1, "1")
)

// One rule of shared leases distinguishes each pair of histories. They have no journal, so it is a rule of the model or
// of the arithmetic.
var sharingPairs = []struct {
	rule           string
	legal, illegal []line
	check          string
}{
	{
		"readers hold together, a writer alone",
		[]line{readerA, readerB},
		[]line{readerA, acquire("b", 2, 3).granted(2)}, "windows",
	},
	{
		"a writer enters when the readers have ended",
		[]line{readerA, readerB, release("a", 4, 5).token(1).released(), release("b", 6, 7).token(2).released(),
			acquire("c", 8, 9).granted(3)},
		[]line{readerA, readerB, release("a", 4, 5).token(1).released(), acquire("c", 8, 9).granted(3)}, "model",
	},
	{
		"no more permits than the limit of the request",
		[]line{readerA, readerB, acquire("c", 4, 5).limit(3).granted(3).as(3, "2", 1)},
		[]line{readerA, readerB, acquire("c", 4, 5).limit(2).granted(3).as(2, "2", 1)}, "windows",
	},
	{
		"no more permits than the limit of a holder",
		[]line{acquire("a", 0, 1).limit(3).granted(1).as(3, "0", 1),
			acquire("b", 2, 3).limit(9).twoPermits().granted(2).as(9, "1 2", 1)},
		[]line{acquire("a", 0, 1).limit(2).granted(1).as(2, "0", 1),
			acquire("b", 2, 3).limit(9).twoPermits().granted(2).as(9, "1 2", 1)}, "windows",
	},
	{
		"as many permits as were asked for",
		[]line{acquire("a", 0, 1).limit(3).twoPermits().granted(1).as(3, "0 1", 1)},
		[]line{acquire("a", 0, 1).limit(3).twoPermits().granted(1).as(3, "0", 1)}, "model",
	},
	{
		"the smallest free slots",
		[]line{readerA, readerB, release("a", 4, 5).token(1).released(), reads("c", 6, 7, 3, 1, "0")},
		[]line{readerA, readerB, release("a", 4, 5).token(1).released(), reads("c", 6, 7, 3, 1, "2")}, "model",
	},
	{
		"a slot has one holder",
		[]line{readerA, readerB},
		[]line{readerA, reads("b", 2, 3, 2, 1, "0")}, "windows",
	},
	{
		"what is held together has one phase",
		[]line{readerA, readerB},
		[]line{readerA, reads("b", 2, 3, 2, 2, "1")}, "model",
	},
	{
		"a free resource begins a phase",
		[]line{readerA, release("a", 2, 3).token(1).released(), reads("b", 4, 5, 2, 2, "0")},
		[]line{readerA, release("a", 2, 3).token(1).released(), reads("b", 4, 5, 2, 1, "0")}, "model",
	},
	{
		"the slot of a lease that has run out is given away, and no other",
		[]line{readerA, reads("b", 500, 501, 2, 1, "1"), reads("c", 1001, 1002, 3, 1, "0")},
		[]line{readerA, reads("b", 500, 501, 2, 1, "1"), reads("c", 1001, 1002, 3, 1, "1")}, "windows",
	},
	{
		"a permit that was given back is free",
		[]line{readerA, readerB, release("a", 4, 5).token(1).released(),
			acquire("c", 6, 7).limit(2).granted(3).as(2, "0", 1)},
		[]line{readerA, readerB, release("a", 4, 5).token(1).released(),
			acquire("c", 6, 7).limit(2).listed(1, readerB)}, "model",
	},
	{
		"a request that fits is refused only if others wait",
		[]line{readerA, acquire("c", 4, 5).limit(9).listed(1, readerA).waiting(1)},
		[]line{readerA, acquire("c", 4, 5).limit(9).listed(1, readerA)}, "model",
	},
	{
		"a request that is granted at once overtakes none",
		[]line{readerA, readerB.wait(9).waiting(1)},
		[]line{readerA, readerB.waiting(1)}, "turns",
	},
	{
		"all holders are listed",
		[]line{readerA, readerB, get(4, 5).listed(2, readerA, readerB)},
		[]line{readerA, readerB, get(4, 5).listed(1, readerA)}, "model",
	},
	{
		"their permits are counted",
		[]line{readerA, readerB, get(4, 5).listed(2, readerA, readerB)},
		[]line{readerA, readerB, get(4, 5).listed(3, readerA, readerB)}, "model",
	},
	{
		"a downgrade has a new token, and begins a phase",
		[]line{acquire("a", 0, 1).granted(1), extend("a", 2, 3).token(1).limit(9).extended(2).as(9, "0", 2),
			reads("b", 4, 5, 3, 2, "1")},
		[]line{acquire("a", 0, 1).granted(1), extend("a", 2, 3).token(1).limit(9).extended(1).as(9, "0", 1),
			reads("b", 4, 5, 2, 1, "1")}, "model",
	},
	{
		"only what is held alone is downgraded",
		[]line{acquire("a", 0, 1).limit(3).granted(1).as(3, "0", 1),
			extend("a", 4, 5).token(1).limit(9).extended(2).as(9, "0", 2)},
		[]line{acquire("a", 0, 1).limit(3).granted(1).as(3, "0", 1), reads("b", 2, 3, 2, 1, "1"),
			extend("a", 4, 5).token(1).limit(9).extended(3).as(9, "0", 3)}, "model",
	},
	{
		"the former token names the lease",
		[]line{acquire("a", 0, 1).granted(1), extend("a", 2, 3).token(1).limit(9).extended(2).as(9, "0", 2),
			release("a", 4, 5).token(1).released(), acquire("b", 6, 7).granted(3)},
		[]line{acquire("a", 0, 1).granted(1), extend("a", 2, 3).token(1).limit(9).extended(2).as(9, "0", 2),
			release("a", 4, 5).token(1).gets(notHeld), acquire("b", 6, 7).granted(3)}, "model",
	},
	{
		"a second downgrade needs the present token",
		[]line{
			acquire("a", 0, 1).granted(1), extend("a", 2, 3).token(1).limit(3).extended(2).as(3, "0", 2),
			extend("a", 4, 5).token(1).limit(9).shows(staleToken, "a", 2).as(3, "0", 2),
			release("a", 6, 7).token(1).released(),
		},
		[]line{
			acquire("a", 0, 1).granted(1), extend("a", 2, 3).token(1).limit(3).extended(2).as(3, "0", 2),
			extend("a", 4, 5).token(1).limit(9).extended(3).as(9, "0", 3), release("a", 6, 7).token(3).released(),
		}, "model",
	},
	{
		"each token of a lease that was downgraded twice ends its window",
		[]line{
			acquire("a", 0, 1).granted(1), extend("a", 2, 3).token(1).limit(3).extended(2).as(3, "0", 2),
			extend("a", 4, 5).token(2).limit(9).extended(3).as(9, "0", 3), release("a", 6, 7).token(2).released(),
			acquire("b", 8, 9).granted(4),
		},
		[]line{
			acquire("a", 0, 1).granted(1), extend("a", 2, 3).token(1).limit(3).extended(2).as(3, "0", 2),
			extend("a", 4, 5).token(2).limit(9).extended(3).as(9, "0", 3), acquire("b", 8, 9).granted(4),
		}, "windows",
	},
	{
		"a request whose lease has run out beside others may be granted by an owner that does not know it",
		[]line{readerA, reads("b", 500, 501, 2, 1, "1"), reads("a", 1700, 1701, 3, 3, "0").id("a-0")},
		[]line{readerA, reads("b", 500, 501, 2, 1, "1"), reads("b", 1700, 1701, 3, 3, "0").id("b-500")}, "model",
	},
	{
		"a release that is repeated while others hold",
		[]line{readerA, readerB, release("a", 4, 5).token(1).released(), release("a", 6, 7).token(1).released()},
		[]line{readerA, readerB, release("a", 4, 5).token(1).released(),
			release("a", 6, 7).token(1).shows(staleToken, "a", 1)}, "model",
	},
	{
		"a repeated request gets its lease again, beside others",
		[]line{readerA, readerB, reads("a", 4, 5, 1, 1, "0").id("a-0")},
		[]line{readerA, readerB, reads("a", 4, 5, 3, 1, "2").id("a-0")}, "model",
	},
	{
		"a token is above those that were seen before",
		[]line{readerA, readerB, reads("c", 4, 5, 3, 1, "2")},
		[]line{readerA, reads("b", 2, 3, 3, 1, "1"), reads("c", 4, 5, 2, 1, "2")}, "tokens",
	},
}

func TestSharedHistories(t *testing.T) {
	t.Parallel()
	for _, p := range sharingPairs {
		t.Run(p.rule, func(t *testing.T) {
			t.Parallel()
			checks, err := tellApart(t, p.legal, p.illegal)
			if !slices.Contains(checks, p.check) || !slices.Contains(checks, "model") && p.check != "turns" {
				t.Errorf("%s or the model does not see it: %v", p.check, err)
			}
		})
	}
}
