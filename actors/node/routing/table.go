package routing

import (
	"github.com/holdfast-io/holdfast/actors"
	"github.com/holdfast-io/holdfast/messages"
)

// Table has the router of each shard.
type Table []*Router

// ShardOf returns a key's shard.
func (t Table) ShardOf(key string) uint32 { return messages.ShardOf(key, uint32(len(t))) }

// Local returns the shards that take requests here.
func (t Table) Local() []*actors.Shard {
	var all []*actors.Shard
	for _, r := range t {
		if s := r.Local(); s != nil {
			all = append(all, s)
		}
	}
	return all
}
