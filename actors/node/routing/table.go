package routing

import (
	"github.com/holdfast-io/holdfast/actors"
	"github.com/holdfast-io/holdfast/messages"
)

// Table has the router of each shard.
type Table []*Router

// of returns the router of a key.
func (t Table) of(key string) *Router { return t[t.ShardOf(key)] }

// At returns the shard of this number that takes requests here; nil if none does, or there is no such number.
func (t Table) At(number uint32) *actors.Shard {
	if int(number) >= len(t) {
		return nil
	}
	return t[number].Local()
}

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
