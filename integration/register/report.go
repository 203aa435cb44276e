package register

import "fmt"

// Report is what came of a run.
type Report struct {
	Counts
	// StaleReads and StaleWrites were refused by the guard.
	StaleReads, StaleWrites int64
	// Value is what the counters say together at the end.
	Value int64
}

func (r *run) report() Report {
	rep := Report{Counts: r.counts, StaleReads: r.shop.staleReads.Load(), StaleWrites: r.shop.staleWrites.Load()}
	for _, c := range r.shop.cells {
		rep.Value += int64(c.value)
	}
	return rep
}

// Add adds the report of another run.
func (r *Report) Add(o Report) {
	r.add(o.Counts)
	r.StaleReads += o.StaleReads
	r.StaleWrites += o.StaleWrites
	r.Value += o.Value
}

// Lost returns how many acknowledged increments are not in the counters.
func (r Report) Lost() int64 { return r.Acknowledged - r.Value }

// String returns one line.
func (r Report) String() string {
	return fmt.Sprintf(
		"%d locks, %d of leases that were retained, and %d calls without one, %d pauses, %d increments acknowledged, %d lost, %d stale writes and %d "+
			"stale reads refused",
		r.Locks, r.Cached, r.Refused, r.Pauses, r.Acknowledged, r.Lost(), r.StaleWrites, r.StaleReads)
}
