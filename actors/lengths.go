package actors

// lengths counts queues by their length, so that the longest is known without a look at all of them.
type lengths struct {
	// of has at n the number of queues of the length n+1. Its last element is not 0.
	of []int
}

// change notes that a queue has another length.
func (l *lengths) change(from, to int) {
	if to > 0 {
		for len(l.of) < to {
			l.of = append(l.of, 0)
		}
		l.of[to-1]++
	}
	if from > 0 {
		l.of[from-1]--
	}
	for n := len(l.of); n > 0 && l.of[n-1] == 0; n = len(l.of) {
		l.of = l.of[:n-1]
	}
}

// longest returns the length of the longest queue, 0 if there is none.
func (l *lengths) longest() int { return len(l.of) }
