package linear

import (
	"fmt"
	"slices"
	"time"

	"github.com/holdfast-io/holdfast/messages"
)

// checkTokens checks by arithmetic that tokens follow real time: what was seen before a request was sent
// is not above what it receives. A token is of one owner for ever, also as one of a block. Where leases are shared, an answer may show any of
// them, so only those are compared that show the latest token: of a new grant, and of a resource that is free.
func checkTokens(operations []Operation, ephemeral bool) (wrong []string) {
	type sight struct {
		at    time.Duration
		token uint64
		by    *Operation
	}
	owners := make(map[uint64]*Operation)
	var sights []sight
	for i := range operations {
		o := &operations[i]
		if o.Shown.Token == 0 || o.Stale {
			continue
		}
		sights = append(sights, sight{o.Return, o.Shown.Token, o})
		if o.Shown.Owner == "" {
			continue
		}
		if was := owners[o.Shown.Token]; was != nil && was.Shown.Owner != o.Shown.Owner {
			wrong = append(wrong, fmt.Sprintf("token %d has two owners: %s and %s", o.Shown.Token, was.span(),
				o.span()))
		}
		owners[o.Shown.Token] = o
	}
	wrong = append(wrong, blocksOf(operations).overlap()...)
	if ephemeral {
		return wrong
	}
	volatile := slices.ContainsFunc(operations, func(o Operation) bool { return o.Ephemeral })
	slices.SortFunc(sights, func(a, b sight) int { return int(a.at - b.at) })
	for i := 1; i < len(sights); i++ {
		if sights[i].token < sights[i-1].token {
			sights[i].token, sights[i].by = sights[i-1].token, sights[i-1].by
		}
	}
	mixed := slices.ContainsFunc(operations, func(o Operation) bool { return o.Limit > 1 })
	fresh := fresh(operations)
	for i := range operations {
		o := &operations[i]
		since := o.Last
		if mixed && o.Status != messages.Status_FREE {
			if !fresh[o] {
				continue
			}
			since = o.Call
		}
		if o.Stale || o.late() || o.Shown.Token == 0 && (o.Status != messages.Status_FREE || volatile) {
			continue
		}
		n, _ := slices.BinarySearchFunc(sights, since, func(s sight, at time.Duration) int {
			if s.at < at {
				return -1
			}
			return 1
		})
		if n == 0 {
			continue
		}
		if top := sights[n-1]; o.Shown.Token < top.token {
			wrong = append(wrong, fmt.Sprintf("token %d is back behind token %d: %s came before %s",
				o.Shown.Token, top.token, top.by.span(), o.span()))
		}
	}
	return wrong
}

// fresh are the grants that were the answer to the first operation of their request, which the request has brought
// about.
func fresh(operations []Operation) map[*Operation]bool {
	known, all := make(map[asked]bool), make(map[*Operation]bool)
	for i := range operations { // in the order in which they were sent
		o := &operations[i]
		if id := (asked{o.Owner, o.RequestID}); o.Kind == messages.OpAcquire && o.RequestID != "" && !known[id] {
			known[id] = true
			all[o] = o.granted() && !o.Reentrant
		}
	}
	return all
}

// mayTakeBack returns what reports whether an owner may have lost the lease with a token, and take it back. A grant
// need not be among the answers: a late copy of a request that had another answer, or none, may have been granted.
func mayTakeBack(operations []Operation) func(owner string, token uint64) bool {
	known, asked := make(map[uint64]bool), make(map[string]bool)
	delayed, b := make(map[uint64]string), blocksOf(operations)
	for i := range operations {
		o := &operations[i]
		delays := o.Delay > 0 && !o.Confirm
		if o.granted() {
			known[o.Shown.Token] = true
			if delays {
				delayed[o.Shown.Token] = o.Owner
			}
		}
		asked[o.Owner] = asked[o.Owner] || delays
	}
	return func(owner string, token uint64) bool {
		token = b.named(token)
		return delayed[token] == owner || !known[token] && asked[owner]
	}
}

// checkTurns checks that no request was granted at once past others that waited. It looks at those that were sent once,
// since the answer to a repetition says how many wait by then. An owner that takes back what it has lost goes before
// all.
func checkTurns(operations []Operation) (wrong []string) {
	takesBack := mayTakeBack(operations)
	for o, is := range fresh(operations) {
		if takesBack(o.Owner, o.Shown.Token-1) {
			continue
		}
		if is && o.Wait == 0 && o.Waiting > 0 && o.Open == 0 && o.Call == o.Last {
			wrong = append(wrong, fmt.Sprintf("%d requests were overtaken by %s", o.Waiting, o.span()))
		}
	}
	slices.Sort(wrong)
	return wrong
}
