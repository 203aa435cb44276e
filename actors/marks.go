package actors

// mark says at which position a commit stands, and how many bytes of changes were read up to it.
type mark struct {
	number, position uint64
	bytes            int
}

// markEvery is how many commits lie between two marks: how exactly history is kept.
const markEvery = 64

// marks remember where the journal's commits stand, so that a purge can keep a number of them.
type marks struct{ list []mark }

func (m *marks) add(k mark) {
	if n := len(m.list); n == 0 || k.number >= m.list[n-1].number+markEvery {
		m.list = append(m.list, k)
	}
}

// before returns the position up to which commits may go if those of which mayGo is false are to
// stay, and all behind them, and forgets the marks up to there. 0: none may go.
func (m *marks) before(mayGo func(mark) bool) (position uint64) {
	for len(m.list) > 0 && mayGo(m.list[0]) {
		position = m.list[0].position
		m.list = m.list[1:]
	}
	return position
}

// behind returns a position behind which all commits above number stand.
func (m *marks) behind(number uint64) (position uint64) {
	for _, k := range m.list {
		if k.number > number {
			break
		}
		position = k.position
	}
	return position
}
