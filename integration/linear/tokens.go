package linear

import (
	"fmt"
	"slices"
	"time"

	"github.com/holdfast-io/holdfast/messages"
)

// checkTokens checks by arithmetic that tokens follow real time: what was seen before a request was sent
// is not above what it is told. A token is of one owner for ever.
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
			wrong = append(wrong, fmt.Sprintf("token %d has two owners: %s and %s", o.Shown.Token, was.span(), o.span()))
		}
		owners[o.Shown.Token] = o
	}
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
	for i := range operations {
		o := &operations[i]
		if o.Stale || o.late() || o.Shown.Token == 0 && (o.Status != messages.Status_FREE || volatile) {
			continue
		}
		n, _ := slices.BinarySearchFunc(sights, o.Last, func(s sight, at time.Duration) int {
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
