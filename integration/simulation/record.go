package simulation

import (
	"fmt"
	"strings"

	"github.com/holdfast-io/holdfast/messages"
	"github.com/holdfast-io/holdfast/messages/journal"
)

// stored notes a record of a journal when it is committed: a compaction removes it later.
func (w *world) stored(stream string, position uint64, subject string, data []byte) {
	var shard uint32
	if _, err := fmt.Sscanf(stream, "KV_HOLDFAST_%d", &shard); err != nil {
		return
	}
	key := strings.TrimPrefix(subject, fmt.Sprintf("$KV.HOLDFAST_%d.", shard))
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
