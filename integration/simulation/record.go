package simulation

import (
	"fmt"
	"strings"

	"github.com/holdfast-io/holdfast/messages"
	"github.com/holdfast-io/holdfast/messages/journal"
)

// stored notes a record of a journal when it is committed: a compaction removes it later.
func (w *world) stored(stream string, position uint64, subject string, data []byte) {
	shard, ok := shardOf(stream)
	if !ok {
		return
	}
	key := strings.TrimPrefix(subject, "$KV."+strings.TrimPrefix(stream, "KV_")+".")
	r, err := journal.Decode(key, data)
	if err != nil {
		w.note(fmt.Errorf("%s: position %d: %s: %w", stream, position, key, err))
		return
	}
	w.outcome.Journal.Add(shard, position, r)
	w.issued.note(r)
	for _, m := range r.GetCommit().GetChanges() {
		if m.GetRestingMs() > 0 {
			w.records["rest"]++
		}
		if m.GetKind() == messages.Event_EXTENDED && m.GetGrant().GetTokens() > 16 {
			w.records["block that has grown"]++
		}
	}
	switch p := r.GetPage(); {
	case p.GetFloor() > 0:
		w.records["page with a floor"]++
	case p != nil:
		w.records["page"]++
	case r.GetCommit().GetHandOver() != nil:
		w.records["hand-over"]++
	}
}

// shardOf returns the shard that keeps its journal in a stream.
func shardOf(stream string) (s messages.Shard, ok bool) {
	name := strings.TrimPrefix(stream, "KV_HOLDFAST_")
	if _, err := fmt.Sscanf(name, "%d_%d", &s.Generation, &s.Number); err == nil {
		return s, true
	}
	s.Generation = 0
	_, err := fmt.Sscanf(name, "%d", &s.Number)
	return s, err == nil
}
