package holdfast

// maxLosses is how many leases a client remembers that it has lost: a late answer comes within seconds, while it loses
// few.
const maxLosses = 4096

// losses are the latest leases that this client has lost. An answer that grants one of them once more, to another
// attempt of the same request, comes late. Its lease is not given back: who has lost a lock may still be at work, and a
// release would let the next holder in, also where a [Delay] or [ConfirmLoss] is to keep it out. The zero losses has
// none.
type losses struct {
	known  map[leaseID]struct{}
	oldest []leaseID
}

func (l *losses) add(id leaseID) {
	if _, known := l.known[id]; known || id == (leaseID{}) {
		return
	}
	if len(l.oldest) == maxLosses {
		delete(l.known, l.oldest[0])
		l.oldest = l.oldest[1:]
	}
	put(&l.known, id, struct{}{})
	l.oldest = append(l.oldest, id)
}

func (l *losses) has(id leaseID) bool {
	_, known := l.known[id]
	return known
}
