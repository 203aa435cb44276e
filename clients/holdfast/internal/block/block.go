// Package block counts the tokens of a lease that has many: which of them a use gets, and when the lease needs more. It
// is pure: it sends nothing.
package block

const (
	// First is how many tokens a lease is asked for at first. A lease that is returned leaves the rest of them unused.
	First uint32 = 16
	// most is how many tokens one extension adds, and all how many a lease has, at most: as of the contract.
	most, all = 1_000_000, 4_000_000_000
)

// Block is the tokens of a lease. The zero Block has none.
type Block struct {
	first uint64
	// size is how many there are, as an answer has shown, and used how many of them were given.
	size, used uint32
	// asked: the lease is to have more. ended: it gets no more.
	asked, ended bool
}

// New returns the tokens of a lease that has so many from the first one on; 0: one.
func New(first uint64, size uint32) Block { return Block{first: first, size: max(size, 1)} }

// Take returns the next token; not ok if there is none yet, or none any more. No token is returned twice.
func (b *Block) Take() (token uint64, ok bool) {
	if b.used == b.size { // mutant: TokenBeforeItsAnswer
		return 0, false
	}
	b.used++
	return b.first + uint64(b.used) - 1, true // mutant: TokenGivenTwice
}

// Used returns how many tokens were given.
func (b *Block) Used() uint32 { return b.used }

// Ask returns how many tokens the lease is to be asked for in all; 0: nothing is to be asked. It is asked for as many
// more as it has when half of them are used, so that the answer comes before the other half is.
func (b *Block) Ask() uint32 {
	if b.asked || b.ended || b.used < b.size/2 {
		return 0
	}
	size := b.size + min(b.size, most, all-b.size)
	if b.asked, b.ended = size > b.size, size == b.size; b.ended {
		return 0
	}
	return size
}

// Has takes in how many tokens the lease has, as an answer has shown. An answer may come late, so fewer change nothing.
func (b *Block) Has(size uint32) {
	if size > b.size {
		b.size, b.asked = size, false
	}
}

// Refuse takes in that the lease gets no more tokens.
func (b *Block) Refuse() { b.ended = true }

// Spent reports whether no token is left, and none will come.
func (b *Block) Spent() bool { return b.used == b.size && b.ended }
