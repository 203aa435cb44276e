package request

// recentNumbers is how many of the latest numbers a [recent] knows. A second answer to an attempt comes soon after the
// first, while no such number of attempts is sent.
const recentNumbers = 1 << 16

// recent is a set of numbers that are given out in order, in constant memory. Numbers that are older than the latest
// recentNumbers are in no recent. The zero recent is empty.
type recent struct {
	last uint64
	bits [recentNumbers / 64]uint64
}

// next takes in that the number, one more than the last, is given out.
func (r *recent) next(n uint64) {
	r.last = n
	word, bit := r.at(n)
	*word &^= bit
}

func (r *recent) add(n uint64) {
	if r.knows(n) {
		word, bit := r.at(n)
		*word |= bit
	}
}

func (r *recent) has(n uint64) bool {
	word, bit := r.at(n)
	return r.knows(n) && *word&bit != 0
}

func (r *recent) knows(n uint64) bool { return n <= r.last && r.last-n < recentNumbers }

func (r *recent) at(n uint64) (word *uint64, bit uint64) {
	return &r.bits[n%recentNumbers/64], 1 << (n % 64)
}
