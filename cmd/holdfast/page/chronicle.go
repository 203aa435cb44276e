package page

import (
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/holdfast-io/holdfast/cmd/holdfast/internal/cli"
	"github.com/holdfast-io/holdfast/messages"
)

const (
	// chronicleEvery is the time between two looks at the nodes that this one hears, which ask nobody.
	chronicleEvery = time.Second
	// maxNotes is how many changes are kept, and keptFor how long a node that is gone is shown as lost.
	maxNotes, keptFor = 100, 24 * time.Hour
)

// note is a change of the nodes, as this node has seen it.
type note struct {
	ID   int
	At   time.Time
	Kind string
	Text string
}

// chronicle has which nodes came and went, and which shards changed their owner, since this node was started. It is safe
// for concurrent use.
type chronicle struct {
	begun time.Time

	mu sync.Mutex
	// nodes are those of the last look, by name, and owners their shards; nil before the first look.
	nodes  map[string]*messages.Node
	owners map[uint32]string
	// gone are nodes that were there, and when they were lost.
	gone map[string]time.Time
	// notes are the newest changes, the oldest first, and last the number of the newest.
	notes []note
	last  int
}

func newChronicle(now time.Time) *chronicle {
	return &chronicle{begun: now, owners: make(map[uint32]string), gone: make(map[string]time.Time)}
}

// see compares the nodes that are there with those of the last look.
func (c *chronicle) see(now time.Time, nodes []*messages.Node) {
	c.mu.Lock()
	defer c.mu.Unlock()
	before := c.nodes
	c.nodes = make(map[string]*messages.Node)
	for _, n := range nodes {
		c.nodes[n.GetName()] = n
		if _, was := before[n.GetName()]; !was && before != nil {
			c.note(now, "node joined", "node "+n.GetName()+" joined")
		}
		delete(c.gone, n.GetName())
	}
	for _, name := range slices.Sorted(maps.Keys(before)) {
		if _, is := c.nodes[name]; !is {
			c.gone[name] = now
			c.note(now, "node lost", "node "+name+" is lost: it owned "+plural(len(before[name].GetShards()), "shard", "shards"))
		}
	}
	maps.DeleteFunc(c.gone, func(_ string, at time.Time) bool { return now.Sub(at) > keptFor })
	c.move(now)
}

// move notes the shards that have another owner than before.
func (c *chronicle) move(now time.Time) {
	moved := make(map[[2]string][]uint32)
	for _, name := range slices.Sorted(maps.Keys(c.nodes)) {
		for _, shard := range c.nodes[name].GetShards() {
			former := c.owners[shard]
			if former != "" && former != name {
				if slices.Contains(c.nodes[former].GetShards(), shard) {
					continue // both say that they own it, for a moment
				}
				moved[[2]string{former, name}] = append(moved[[2]string{former, name}], shard)
			}
			c.owners[shard] = name
		}
	}
	for _, pair := range slices.SortedFunc(maps.Keys(moved), func(a, b [2]string) int { return slices.Compare(a[:], b[:]) }) {
		shards := moved[pair]
		slices.Sort(shards)
		what := "shard " + cli.Slots(shards)
		if len(shards) > 1 {
			what = "shards " + cli.Slots(shards)
		}
		c.note(now, "taken over", fmt.Sprintf("%s of %s: taken over by %s", what, pair[0], pair[1]))
	}
}

func (c *chronicle) note(now time.Time, kind, text string) {
	c.last++
	c.notes = append(c.notes, note{c.last, now, kind, text})
	c.notes = c.notes[max(0, len(c.notes)-maxNotes):]
}

// newest returns the newest changes since a time, the newest first.
func (c *chronicle) newest(since time.Time, limit int) (all []note) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, n := range slices.Backward(c.notes) {
		if len(all) == limit || n.At.Before(since) {
			break
		}
		all = append(all, n)
	}
	return all
}

// lost returns the nodes that were there and are not, and since when.
func (c *chronicle) lost() map[string]time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return maps.Clone(c.gone)
}

// follow looks at the nodes until stop is closed.
func (c *chronicle) follow(stop <-chan struct{}, nodes func() []*messages.Node) {
	again := time.NewTicker(chronicleEvery)
	defer again.Stop()
	for {
		c.see(time.Now(), nodes())
		select {
		case <-stop:
			return
		case <-again.C:
		}
	}
}
