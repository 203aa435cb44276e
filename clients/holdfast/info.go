package holdfast

import (
	"slices"
	"time"

	"github.com/holdfast-io/holdfast/messages"
)

// Info is what a deployment says about itself.
type Info struct {
	Version string
	// Shards is how many there are. Generation is 0 when a deployment is created, and grows when the number changes.
	Shards, Generation uint32
	Nodes              []Node
	Limits             Limits
	// Features are what the deployment offers beyond the first version of the contract, by their names there.
	Features []string
	// Identity is who this client is, as NATS has verified it. The owners of its locks have to be this name, or to
	// begin with it and a slash: see [Owner]. Empty: the deployment does not verify owners.
	Identity string
}

// Node is one lock node.
type Node struct {
	Name    string
	Version string
	// Shards are the numbers of those that it owns.
	Shards []uint32
}

// Limits are the bounds that a deployment holds requests to; the contract has their defaults.
type Limits struct {
	MinTTL, MaxTTL time.Duration
	// MaxWait bounds a place in the queue. [Client.Acquire] takes its place again.
	MaxWait            time.Duration
	MaxResourceBytes   int
	MaxOwnerBytes      int
	MaxMetadataEntries int
	MaxMetadataBytes   int
	MaxToken           Token
}

// opInfo and opList are no operations on a resource, so the contract has no name for them.
const (
	opInfo messages.Operation = "info"
	opList messages.Operation = "list"
)

func newInfo(m *messages.Info) *Info {
	l := m.GetLimits()
	i := &Info{Version: m.GetVersion(), Shards: m.GetShards(), Generation: m.GetGeneration(),
		Features: m.GetFeatures(), Identity: m.GetIdentity(),
		Limits: Limits{
			MinTTL: millis(l.GetMinTtlMs()), MaxTTL: millis(l.GetMaxTtlMs()), MaxWait: millis(l.GetMaxWaitMs()),
			MaxResourceBytes: int(l.GetMaxResourceBytes()), MaxOwnerBytes: int(l.GetMaxOwnerBytes()),
			MaxMetadataEntries: int(l.GetMaxMetadataEntries()), MaxMetadataBytes: int(l.GetMaxMetadataBytes()),
			MaxToken: Token(l.GetMaxToken()),
		}}
	for _, n := range m.GetNodes() {
		i.Nodes = append(i.Nodes, Node{Name: n.GetName(), Version: n.GetVersion(), Shards: n.GetShards()})
	}
	return i
}

// layout is how the deployment divides its resources.
func (i *Info) layout() messages.Shards {
	return messages.Shards{Generation: i.Generation, Count: i.Shards}
}

// offers reports whether the deployment has a feature.
func (i *Info) offers(feature string) bool { return slices.Contains(i.Features, feature) }
