package soak

import (
	"fmt"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/holdfast-io/holdfast/integration/audit"
	"github.com/holdfast-io/holdfast/messages"
)

// operations counts all answers.
func (t *tally) operations() (n int64) {
	for op := range t.answers {
		for status := range t.answers[op] {
			n += t.answers[op][status].Load()
		}
	}
	return n
}

// table sums a run up.
func (r *run) table(total audit.Totals, played time.Duration, heaps []uint64) string {
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', tabwriter.AlignRight)
	row := func(cells ...any) {
		for _, c := range cells {
			_, _ = fmt.Fprintf(w, "%v\t", c) // to memory, as all of it
		}
		_, _ = fmt.Fprintln(w)
	}
	row(append([]any{""}, asAny(messages.Operations)...)...)
	for status := messages.Status_GRANTED; status <= messages.Status_UPDATED; status++ {
		cells, sum := []any{status}, int64(0)
		for op := range r.answers {
			n := r.answers[op][status].Load()
			cells, sum = append(cells, n), sum+n
		}
		if sum > 0 {
			row(cells...)
		}
	}
	_ = w.Flush()
	fmt.Fprintf(&b, "\n%d operations in %v, %.0f a second; %d retries, %d deliberate repeats\n",
		r.operations(), played.Round(time.Millisecond), float64(r.operations())/played.Seconds(), r.retries.Load(),
		r.repeats.Load())
	fmt.Fprintf(&b, "%d shared grants, %d hold windows beside others\n", r.shared.Load(), r.together.Load())
	fmt.Fprintf(&b,
		"%d hand-overs, %d ephemeral grants; "+
			"%d hold windows, %d grants compared with the one before on their route, %d with the journal\n",
		r.handOvers.Load(), r.volatile.Load(), r.windows.Load(), r.ordered.Load(), r.matched.Load())
	fmt.Fprintf(&b, "%d keeps of sessions\n", r.keeps.Load())
	fmt.Fprintf(&b, "%d late copies of requests whose leases had ended, %d of withdrawn ones\n", r.lateEnded.Load(),
		r.lateWithdrawn.Load())
	fmt.Fprintf(&b, "%d crashes of processes, %d vanished waiters, %d restarts\n", r.crashes.Load(), r.vanished.Load(),
		len(r.restarts))
	fmt.Fprintf(&b,
		"journals: %d commits (%d empty, %d opened), %d changes, %d pages, %d resources forgotten, %d reservations, "+
			"%d bounces; %d gaps, %d records unseen\n",
		total.Commits, total.Empty, total.Opened, total.Changes, total.Pages, total.Forgotten, total.Kinds[0],
		total.Bounces, total.Gaps, total.Unseen)
	for kind := messages.Event_ACQUIRED; kind <= messages.Event_UPDATED; kind++ {
		fmt.Fprintf(&b, "%s %d  ", kind, total.Kinds[kind])
	}
	fmt.Fprintf(&b, "\nhighest token %d; heap in MB:", total.TopToken)
	for _, h := range heaps {
		fmt.Fprintf(&b, " %d", h>>20)
	}
	return b.String()
}

func asAny[T any](list []T) (all []any) {
	for _, v := range list {
		all = append(all, v)
	}
	return all
}
