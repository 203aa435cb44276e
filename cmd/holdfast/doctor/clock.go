package doctor

import (
	"fmt"
	"maps"
	"math"
	"runtime"
	"slices"
	"time"

	"github.com/holdfast-io/holdfast/clients/holdfast"
	"github.com/holdfast-io/holdfast/cmd/holdfast/internal/display"
)

const (
	// apartAbove is the number of seconds above which clocks of nodes are apart.
	apartAbove = 1
	// apartAtMost is what is shown of more, so that it is a duration: 31 years. TestClocksApart reaches it.
	apartAtMost = 1e9
)

// clock checks whether clients on this machine notice that it was suspended.
func clock(r *Result) { clockOf(r, holdfast.CountsSuspend(), runtime.GOOS) }

func clockOf(r *Result, counts bool, system string) {
	if counts {
		r.see("the clock of this machine (%s) counts the time of a suspend", system)
		return
	}
	r.see("this machine runs %s", system)
	r.warn("the clock of this machine ("+system+") does not count the time of a suspend",
		"a client on it takes a lock for held after a suspend in which the lease has ended, for as long as was left "+
			"of it",
		"check tokens at the protected resource, as docs/fencing.md shows; or keep this machine from being suspended")
}

// compareClocks looks for clocks of nodes that are apart, by what each node says of the one from which it differs most.
func compareClocks(r *Result, nodes map[string]*NodeStats) {
	var apart []string
	for _, name := range slices.Sorted(maps.Keys(nodes)) {
		c := nodes[name].Clock
		if c == nil || math.Abs(c.Seconds) <= apartAbove {
			continue
		}
		side := "ahead of"
		if c.Seconds < 0 {
			side = "behind"
		}
		difference := time.Duration(min(math.Abs(c.Seconds), apartAtMost) * float64(time.Second))
		apart = append(apart, fmt.Sprintf("%s is %s %s %s", display.Name(name), display.Duration(difference), side,
			display.Name(c.Node)))
	}
	if len(apart) == 0 {
		return
	}
	r.warn("the clocks of nodes are apart: "+listed(apart),
		"leases are not affected; times in listings, events and logs are wrong, and when credentials end",
		"look at the time synchronization of the machines: timedatectl, chronyc tracking")
	r.as("HoldfastClocksApart")
}
