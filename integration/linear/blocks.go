package linear

import (
	"cmp"
	"fmt"
	"slices"
)

// blocks are the leases that answers have shown, in the order of their tokens, each with all tokens that it was shown
// with.
type blocks []shownBlock

// shownBlock is a lease from its first token to the last one, and the answer that shows the most of it.
type shownBlock struct {
	first, last uint64
	by          *Operation
}

// blocksOf returns the leases that are shown. That a resource is free shows none.
func blocksOf(operations []Operation) blocks {
	known := make(map[uint64]shownBlock)
	for i := range operations {
		o := &operations[i]
		for _, l := range slices.Concat(o.Holders, []Shown{o.Shown}) {
			if b := (shownBlock{l.Token, last(l.Token, l.Tokens), o}); l.Owner != "" && known[l.Token].last < b.last {
				known[l.Token] = b
			}
		}
	}
	var all blocks
	for _, b := range known {
		all = append(all, b)
	}
	slices.SortFunc(all, func(a, b shownBlock) int { return cmp.Compare(a.first, b.first) })
	return all
}

// named returns the first token of the lease that has this one, the token itself if none is shown to have it.
func (b blocks) named(token uint64) uint64 {
	place, found := slices.BinarySearchFunc(b, token, func(x shownBlock, token uint64) int {
		return cmp.Compare(x.first, token)
	})
	if !found && place > 0 && token <= b[place-1].last {
		return b[place-1].first
	}
	return token
}

// overlap says which leases have a token that is of the block of another one.
func (b blocks) overlap() (wrong []string) {
	for i := 1; i < len(b); i++ {
		if before := b[i-1]; b[i].first <= before.last {
			wrong = append(wrong, fmt.Sprintf("token %d is of the block %d to %d: %s and %s", b[i].first, before.first,
				before.last, before.by.span(), b[i].by.span()))
		}
	}
	return wrong
}
