package linear

import "github.com/holdfast-io/holdfast/messages"

// repeated checks that no request was granted a second time while the owner of the shard had to remember
// that its lease had ended: it knows all that ended in its own time, and the last grant of the owner before
// it. Histories are shorter than the minute for which it remembers, and than its memory.
func (a *answers) repeated() {
	last := make(map[asked]int)
	for at, c := range a.changes {
		id := asked{c.GetGrant().GetOwner(), c.GetGrant().GetRequestId()}
		if c.GetKind() != messages.Event_ACQUIRED || id.request == "" {
			continue
		}
		if before, ok := last[id]; ok && a.remembered(before, at) {
			a.is("the request was granted before, and its lease had ended: %s; %s", a.changes[before], c)
		}
		last[id] = at
	}
}

// remembered reports whether the owner that made the later grant had to know of the earlier one.
func (a *answers) remembered(earlier, later int) bool {
	for _, c := range a.changes[earlier+1 : later] {
		if c.GetKind() == messages.Event_ACQUIRED && c.epoch < a.changes[later].epoch {
			return false // another grant was the last one of its owner
		}
	}
	return true
}
