package ledger

// Mark says where a commit stands.
type Mark struct {
	// Number is that of the commit.
	Number uint64
	// Bytes estimates the changes that were read up to it.
	Bytes    int
	position uint64
}

// markEvery is how many commits lie between two marks: how exactly history is kept.
const markEvery = 64

// marks remember where the journal's commits stand, so that a purge can keep a number of them.
type marks struct{ list []Mark }

func (m *marks) add(k Mark) {
	if n := len(m.list); n == 0 || k.Number >= m.list[n-1].Number+markEvery {
		m.list = append(m.list, k)
	}
}

// before returns the position of the last mark before the first one that may not be purged, and forgets
// the marks up to there. 0: nothing may be purged.
func (m *marks) before(mayPurge func(Mark) bool) (position uint64) {
	for len(m.list) > 0 && mayPurge(m.list[0]) {
		position = m.list[0].position
		m.list = m.list[1:]
	}
	return position
}

// behind returns a position behind which all commits above number stand.
func (m *marks) behind(number uint64) (position uint64) {
	for _, k := range m.list {
		if k.Number > number {
			break
		}
		position = k.position
	}
	return position
}
