package linear

import (
	"fmt"
	"slices"
	"time"

	"github.com/holdfast-io/holdfast/messages"
)

// window is a time in which a client may believe that it holds a resource: from an answer that says so,
// to the TTL after its request was sent, or to the first moment at which a request was sent that may end
// or change the lease.
type window struct {
	from, to time.Duration
	token    uint64
	why      *Operation
}

// checkWindows checks by arithmetic that no two windows overlap. It needs no search and no journal, so
// its mistakes are not those of the model.
func checkWindows(operations []Operation, slack time.Duration) (wrong []string) {
	all := windows(operations)
	slices.SortFunc(all, func(a, b window) int { return int(a.from - b.from) })
	var longest, other window // of all before; and of those under another token than the longest
	for _, w := range all {
		rival := longest
		if rival.token == w.token {
			rival = other
		}
		if rival.why != nil && w.from < rival.to-slack {
			wrong = append(wrong, fmt.Sprintf("held twice from %v to %v: by %s and by %s",
				w.from, min(w.to, rival.to), rival.why.span(), w.why.span()))
		}
		switch {
		case w.to > longest.to:
			if w.token != longest.token {
				other = longest
			}
			longest = w
		case w.token != longest.token && w.to > other.to:
			other = w
		}
	}
	return wrong
}

func windows(operations []Operation) (all []window) {
	ends := enders(operations)
	first := firstCalls(operations)
	for i := range operations {
		o := &operations[i]
		w := window{from: o.Return, token: o.Shown.Token, why: o}
		since := o.Call // what was over before then has had its effect before the lease began to run
		switch {
		case o.granted() && !o.Reentrant:
			since = first[o.Shown.Token] // the answer to a repetition may tell of one that was cut shorter
		case o.granted():
		case o.Status == messages.Status_EXTENDED:
			since = o.Last
		default:
			continue
		}
		w.to = since + millis(o.TTL)
		for _, named := range []target{{token: w.token}, {owner: o.Owner}} {
			for _, e := range ends[named] {
				if e != o && (e.Open > 0 || e.Return >= since) {
					w.to = min(w.to, e.Call)
				}
			}
		}
		if w.to > w.from {
			all = append(all, w)
		}
	}
	return all
}

// target is what a request means to end or change: the lease of a token, or whatever an owner has.
type target struct {
	token uint64
	owner string
}

// enders are the operations that may end or change a lease.
func enders(operations []Operation) map[target][]*Operation {
	all := make(map[target][]*Operation)
	for i := range operations {
		o := &operations[i]
		switch o.Kind {
		case messages.OpRelease, messages.OpExtend, messages.OpBreak:
			t := target{token: o.Token}
			if o.Token == 0 {
				t.owner = o.Owner
			}
			all[t] = append(all[t], o)
		}
	}
	return all
}

// firstCalls returns when the first request was sent that was granted each token: repetitions get the
// same lease, of which less is left.
func firstCalls(operations []Operation) map[uint64]time.Duration {
	first := make(map[uint64]time.Duration)
	for i := range operations {
		o := &operations[i]
		if !o.granted() || o.Reentrant {
			continue
		}
		if at, known := first[o.Shown.Token]; !known || o.Call < at {
			first[o.Shown.Token] = o.Call
		}
	}
	return first
}
