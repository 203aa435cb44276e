package peer

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/holdfast-io/holdfast/messages"
)

// MaxNodeNameBytes is the longest host name of the DNS.
const MaxNodeNameBytes = 253

// Check returns the rule that an announcement breaks, as a [messages.InvalidError], or nil. Each list may
// hold each shard below the announced number once.
func (x *Announcement) Check() error {
	if err := messages.CheckText("node", x.GetNode(), 1, MaxNodeNameBytes); err != nil {
		return err
	}
	if x.GetIncarnation() == 0 || x.GetShards() == 0 {
		return messages.Invalid("announcement", "with an incarnation and a number of shards",
			strconv.Quote(x.GetNode()))
	}
	owned := make([]uint32, len(x.GetOwned()))
	for i, o := range x.GetOwned() {
		owned[i] = o.GetShard()
	}
	for _, l := range []struct {
		field  string
		shards []uint32
	}{
		{"owned", owned}, {"opening", x.GetOpening()}, {"assigned", x.GetAssigned()}, {"failing", x.GetFailing()},
		{"leads", x.GetLeads()},
		{"stalled", x.GetStalled()},
	} {
		if err := x.checkShards(l.field, l.shards); err != nil {
			return err
		}
	}
	return nil
}

func (x *Announcement) checkShards(field string, shards []uint32) error {
	rule := fmt.Sprintf("shards below %d, each once", x.GetShards())
	if len(shards) > int(x.GetShards()) {
		return messages.Invalid(field, rule, fmt.Sprintf("%d of them", len(shards)))
	}
	sorted := slices.Sorted(slices.Values(shards))
	if len(sorted) > 0 && sorted[len(sorted)-1] >= x.GetShards() || len(slices.Compact(sorted)) < len(shards) {
		return messages.Invalid(field, rule, fmt.Sprint(shards[:min(len(shards), 10)]))
	}
	return nil
}

// Owns returns the epoch in which the node owns the shard; ok is false if it does not own it.
func (x *Announcement) Owns(shard uint32) (epoch uint64, ok bool) {
	for _, o := range x.GetOwned() {
		if o.GetShard() == shard {
			return o.GetEpoch(), true
		}
	}
	return 0, false
}
