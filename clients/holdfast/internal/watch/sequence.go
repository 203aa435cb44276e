package watch

import (
	"fmt"

	"github.com/holdfast-io/holdfast/messages/journal"
)

// sequence checks that commits follow one another: their numbers have no gap, so that a commit that is
// missing or comes twice is noticed from them alone.
type sequence struct {
	// number is that of the last commit, or of the one before the first to come.
	number uint64
	tail   journal.Tail
}

// next takes a commit in. It returns false for one that came before. It is errAgain if a commit is missing.
func (s *sequence) next(c *journal.Commit) (bool, error) {
	switch {
	case c.GetNumber() <= s.number:
		return false, nil
	case c.GetNumber() > s.number+1:
		return false, fmt.Errorf("%w: commit %d came behind commit %d", errAgain, c.GetNumber(), s.number)
	}
	if err := s.tail.Follow(c); err != nil {
		return false, fmt.Errorf("commit %d: %w", c.GetNumber(), err)
	}
	s.number = c.GetNumber()
	return true, nil
}
