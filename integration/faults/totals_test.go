//go:build linux

package faults_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-io/holdfast/integration/cluster"
	"github.com/holdfast-io/holdfast/integration/linear"
	"github.com/holdfast-io/holdfast/integration/register"
)

// totals sum trials up.
type totals struct {
	sound, void, wrong int
	// tenants counts the sound trials of a tenant.
	tenants int
	// unproved counts faults of sound trials that may not have happened.
	unproved  int
	counts    linear.Counts
	register  register.Report
	takeovers int
	reshards  int
	// asked counts operations by what they were and what came of them, faults those that were proved.
	asked  map[string]int
	faults cluster.Tally
	// longest is how long a shard granted nothing, by kind of fault.
	longest map[cluster.Kind]time.Duration
}

// add counts a trial. Of one that does not count, nothing counts.
func (a *totals) add(r result) {
	switch {
	case r.wrong != nil:
		a.wrong++
		return
	case r.void != nil:
		a.void++
		return
	}
	if a.sound++; a.asked == nil {
		a.asked, a.longest = make(map[string]int), make(map[cluster.Kind]time.Duration)
	}
	if r.tenant {
		a.tenants++
	}
	a.counts.Add(r.report.Counts)
	a.register.Add(r.register)
	a.takeovers += r.takeovers
	a.reshards += r.reshards
	for what, n := range r.tally {
		a.asked[what] += n
	}
	a.faults.Add(r.proofs...)
	a.unproved += len(r.steps) - len(r.proofs)
	for i, p := range r.proofs {
		a.longest[p.Fault.Kind] = max(a.longest[p.Fault.Kind], r.outages[i])
	}
}

// String is the totals as tables in Markdown.
func (a *totals) String() string {
	c := a.counts
	what := table("what", "number")
	for _, row := range []struct {
		what   string
		number int
	}{
		{"operations checked", c.Operations}, {"of them never answered", c.Unknown},
		{"histories of a resource checked", c.Resources}, {"of them held against the model", c.Judged},
		{"faults proved", a.faults.Total()}, {"others that could not be", a.unproved},
		{"kinds of faults", len(a.faults.Kinds())},
		{"grants", c.Grants}, {"of them to another owner than the last", c.HandOffs},
		{"of them out of the queue", c.Waited}, {"leases that ran out", c.Expiries},
		{"shards taken over", a.takeovers}, {"changes of the number of shards", a.reshards}, {"events received", c.Events},
		{"increments of the register acknowledged", int(a.register.Acknowledged)},
		{"of them lost", int(a.register.Lost())},
		{"stale writes that its guard refused", int(a.register.StaleWrites)},
		{"trials", a.sound}, {"of them of a tenant", a.tenants}, {"trials that were void", a.void},
		{"trials with a violation", a.wrong},
	} {
		what = what.row(row.what, row.number)
	}
	asked := table("operation", "times")
	for _, operation := range slices.Sorted(maps.Keys(a.asked)) {
		asked = asked.row(operation, a.asked[operation])
	}
	faults := table("fault", "proved", "longest without a grant of some shard")
	for _, k := range a.faults.Kinds() {
		faults = faults.row(k, a.faults.Count(k), fmt.Sprintf("%.1f s", a.longest[k].Seconds()))
	}
	return fmt.Sprintf("%s\n%s\n%s", what, asked, faults)
}

// markdown is a table so far.
type markdown string

// table begins one; its first column holds words, the others numbers.
func table(columns ...any) markdown {
	return markdown("").row(columns...) + markdown("|---|"+strings.Repeat("---:|", len(columns)-1)+"\n")
}

func (m markdown) row(cells ...any) markdown {
	return m + markdown(fmt.Sprintf("|"+strings.Repeat(" %v |", len(cells))+"\n", cells...))
}

func TestTotals(t *testing.T) {
	t.Parallel()
	var a totals
	a.add(result{
		tenant: true,
		report: &linear.Report{Counts: linear.Counts{Operations: 100, Grants: 40, Judged: 3}},
		tally:  map[string]int{"get FREE": 60, "acquire GRANTED": 40}, takeovers: 2,
		steps:    make(cluster.Schedule, 3),
		proofs:   []cluster.Proof{{Fault: cluster.KindKill.On("n1")}, {Fault: cluster.KindKill.On("n2")}},
		outages:  []time.Duration{2 * time.Second, 1500 * time.Millisecond},
		register: register.Report{Counts: register.Counts{Acknowledged: 9}, StaleWrites: 4, Value: 9},
	})
	a.add(result{void: cluster.ErrNoEvidence, report: &linear.Report{Counts: linear.Counts{Operations: 1000}}})
	a.add(result{wrong: linear.ErrViolated})
	text := a.String()
	for _, line := range []string{
		"| what | number |\n|---|---:|\n| operations checked | 100 |\n", "| shards taken over | 2 |\n",
		"| others that could not be | 1 |\n",
		"| increments of the register acknowledged | 9 |\n| of them lost | 0 |\n| stale writes that its guard " +
			"refused | 4 |\n",
		"| trials | 1 |\n| of them of a tenant | 1 |\n| trials that were void | 1 |\n| trials with a violation | 1 |\n",
		"| operation | times |\n|---|---:|\n| acquire GRANTED | 40 |\n| get FREE | 60 |\n",
		"| fault | proved | longest without a grant of some shard |\n|---|---:|---:|\n| kill | 2 | 2.0 s |\n",
	} {
		if !strings.Contains(text, line) {
			t.Errorf("it lacks\n%s\nin\n%s", line, text)
		}
	}
}
