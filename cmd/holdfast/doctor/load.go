package doctor

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/holdfast-io/holdfast/cmd/holdfast/internal/display"
)

// nearLimit is the part of a limit from which it is nearly reached.
const nearLimit = 0.8

// load compares what each node has with its limits.
func (d *deployment) load(_ context.Context, r *Result) {
	if d.unknown(r) {
		return
	}
	var held, waiting int64
	for _, name := range slices.Sorted(maps.Keys(d.nodes)) {
		n := d.nodes[name]
		held, waiting = held+n.Held, waiting+n.Waiting
		near(r, name, "leases are held", "--max-held", n.Held, n.MaxHeld)
		near(r, name, "requests wait", "--max-waiting", n.Waiting, n.MaxWaiting)
	}
	r.see("%s, %s", display.Count(int(held), "lease"), display.Count(int(waiting), "waiting request"))
}

func near(r *Result, node, what, flag string, has, limit int64) {
	if limit == 0 || float64(has) < nearLimit*float64(limit) { // nodes of earlier versions report no limits
		return
	}
	r.warn(fmt.Sprintf("node %s: %d %s, of at most %d", display.Name(node), has, what, limit),
		"beyond that it answers requests with OVERLOADED",
		fmt.Sprintf("raise %s of the nodes, add a node, or look with holdfast ls for what is held too long", flag))
}
