package nodes

import (
	"context"
	"sync"
	"testing"

	"github.com/holdfast-io/holdfast/actors/node"
	"github.com/holdfast-io/holdfast/cmd/holdfast/metrics"
	"github.com/holdfast-io/holdfast/integration/stand"
)

// A node is asked for its health and its metrics while it starts to work, hands over and stops: it answers each time. A
// node that has stopped is neither connected nor has it a shard, and the other one has all of them and can commit.
func TestHealthOfNodesThatStop(t *testing.T) {
	f := newFleet(t)
	observed := metrics.New("test")
	n1 := f.start("n1", func(c *node.Config) { c.First, c.Observer = true, observed })
	observed.Started(n1)
	n2 := f.start("n2")
	ctx, cancel := context.WithCancel(t.Context())
	var asking sync.WaitGroup
	for range 2 {
		asking.Go(func() {
			for ctx.Err() == nil {
				if _, err := observed.Gatherer().Gather(); err != nil {
					t.Error(err)
				}
				if err := n1.Answers(ctx); err != nil && ctx.Err() == nil {
					t.Error(err)
				}
				_ = n1.Commits(ctx) // which of the errors depends on how far it is
			}
		})
	}
	f.settled()
	for _, n := range []*process{n1, n2} {
		if err := n.Commits(t.Context()); err != nil {
			t.Errorf("%s: %v", n.name, err)
		}
		stand.Eventually(t, n.name+" receives its own announcements", func() bool { return n.Hears() == nil })
		if err := n.Connected(); err != nil {
			t.Errorf("%s: %v", n.name, err)
		}
	}
	f.stop(n1)
	cancel()
	asking.Wait()
	if err := n1.Connected(); err == nil {
		t.Error("a node that has stopped is connected")
	}
	if all := n1.Census(t.Context()); len(all) > 0 {
		t.Errorf("a node that has stopped has shards: %v", all)
	}
	stand.Eventually(t, "the other node has all shards", func() bool { return len(n2.Census(t.Context())) == shards })
	if err := n2.Commits(t.Context()); err != nil {
		t.Error(err)
	}
}
