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

// load compares what each node has with what it takes.
func (p *patient) load(_ context.Context, r *Result) {
	if p.unasked(r) {
		return
	}
	var held, waiting int64
	for _, name := range slices.Sorted(maps.Keys(p.nodes)) {
		n := p.nodes[name]
		held, waiting = held+n.Held, waiting+n.Waiting
		near(r, name, "leases are held", "--max-held", n.Held, n.MaxHeld)
		near(r, name, "requests wait", "--max-waiting", n.Waiting, n.MaxWaiting)
	}
	r.see("%s, %s", display.Count(int(held), "lease"), display.Count(int(waiting), "waiting request"))
}

func near(r *Result, node, what, flag string, has, most int64) {
	if most == 0 || float64(has) < nearLimit*float64(most) { // nodes of earlier versions do not tell their limits
		return
	}
	r.warn(fmt.Sprintf("node %s: %d %s, of at most %d", display.Name(node), has, what, most),
		"beyond that it answers requests with OVERLOADED",
		fmt.Sprintf("raise %s of the nodes, add a node, or look with holdfast ls for what is held too long", flag))
}
