package actors

// mark says at which position a commit stands.
type mark struct{ number, position uint64 }

// markEvery is how many commits lie between two marks: how exactly history is kept.
const markEvery = 64

// marks remember where the journal's commits stand, so that a purge can keep a number of them.
type marks struct{ list []mark }

func (m *marks) add(k mark) {
	if n := len(m.list); n == 0 || k.number >= m.list[n-1].number+markEvery {
		m.list = append(m.list, k)
	}
}

// before returns the position up to which commits may go if all from number on are to stay, and
// forgets the marks up to there. 0: none may go.
func (m *marks) before(number uint64) (position uint64) {
	for len(m.list) > 0 && m.list[0].number < number {
		position = m.list[0].position
		m.list = m.list[1:]
	}
	return position
}
