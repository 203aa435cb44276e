package linear

import (
	"cmp"
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

// checkWindows checks by arithmetic that windows that overlap may do so: that all permits together exceed the limit of
// none, and that each has a number of its own. It needs no search and no journal, so its mistakes are not those of the
// model.
func checkWindows(operations []Operation, slack time.Duration) (wrong []string) {
	all := windows(operations)
	slices.SortFunc(all, func(a, b window) int { return int(a.from - b.from) })
	var open []window // of those before, the longest of each token
	for _, w := range all {
		open = slices.DeleteFunc(open, func(o window) bool { return w.from >= o.to-slack })
		if rival, what := w.contradicts(open); rival != nil {
			wrong = append(wrong, fmt.Sprintf("held twice from %v to %v%s: by %s and by %s",
				w.from, min(w.to, rival.to), what, rival.why.span(), w.why.span()))
		}
		i := slices.IndexFunc(open, func(o window) bool { return o.token == w.token })
		switch {
		case i < 0:
			open = append(open, w)
		case w.to > open[i].to:
			open[i] = w
		}
	}
	return wrong
}

// contradicts returns a window that may not be open beside this one, and why; nil if all may.
func (w window) contradicts(open []window) (rival *window, why string) {
	how := w.why.Shown.sharing
	permits, limit := how.permits(), how.most()
	slots := how.numbers()
	for i := range open {
		other := open[i].why.Shown.sharing
		if open[i].token == w.token {
			continue
		}
		permits, limit = permits+other.permits(), min(limit, other.most())
		switch {
		case permits > limit:
			return &open[i], fmt.Sprintf(", %d permits of %d", permits, limit)
		case slices.ContainsFunc(other.numbers(), func(n uint32) bool { return slices.Contains(slots, n) }):
			return &open[i], ", under one slot"
		}
	}
	return nil, ""
}

func windows(operations []Operation) (all []window) {
	ends := enders(operations, blocksOf(operations))
	first, former := firstCalls(operations), formerTokens(operations)
	for i := range operations {
		o := &operations[i]
		if o.Kind == messages.OpKeep || o.Reentrant && (o.Shown.Session != "" || o.Shown.Tokens > 0) {
			continue // it is not said which leases run on, and until when
		}
		if o.overtaken() {
			continue // it has changed nothing
		}
		if o.granted() && o.Shown.Limit > 1 && o.Shown.most() != o.most() {
			continue // the lease was downgraded since, and runs for another time
		}
		w := window{from: o.Return, token: o.Shown.Token, why: o}
		since := o.Call // what was over before then has had its effect before the lease began to run
		switch {
		case o.granted() && !o.Reentrant:
			since = first[o.Shown.Token] // the answer to a repetition may show one that was cut shorter
		case o.granted():
		case o.Status == messages.Status_EXTENDED:
			since = o.Last
		default:
			continue
		}
		if w.to = since + millis(o.TTL); o.Session != "" {
			w.to = o.Until
		}
		named := []target{{owner: o.Owner}}
		for token := cmp.Or(former[w.token], w.token); token <= w.token; token++ {
			// there may have been a downgrade between of which no answer came
			named = append(named, target{token: token})
		}
		for _, named := range named {
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
func enders(operations []Operation, b blocks) map[target][]*Operation {
	all := make(map[target][]*Operation)
	for i := range operations {
		o := &operations[i]
		if o.overtaken() && o.Open == 0 {
			continue
		}
		switch o.Kind {
		case messages.OpRelease, messages.OpExtend, messages.OpBreak, messages.OpEnd:
			t := target{token: o.Token}
			switch {
			case o.Token == 0:
				t.owner = o.Owner
			case o.isOperators():
				t.token = b.named(o.Token)
			}
			all[t] = append(all[t], o)
		}
	}
	return all
}

// formerTokens returns the tokens that leases had before they were downgraded, by which they may still be named.
func formerTokens(operations []Operation) map[uint64]uint64 {
	former := make(map[uint64]uint64)
	for i := range operations {
		if o := &operations[i]; o.downgrades() {
			former[o.Shown.Token] = o.Token
		}
	}
	return former
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
