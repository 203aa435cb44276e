package journal

import "fmt"

// Tail is the last commit that a reader of a journal has read. The zero Tail accepts any commit or page.
type Tail struct {
	Number uint64
	Epoch  uint64
}

// Follow checks that the commit is the next one and moves the tail to it. It returns [ErrCorrupt], and the
// tail stays, at a gap, a repetition, or the commit of a deposed writer.
func (t *Tail) Follow(c *Commit) error {
	epoch := t.Epoch
	if c.GetOpened() {
		epoch++
	}
	switch {
	case t.Number == 0:
	case c.GetNumber() != t.Number+1:
		return fmt.Errorf("%w: it follows commit %d, so a commit is missing or was written twice", ErrCorrupt, t.Number)
	case c.GetEpoch() != epoch:
		return fmt.Errorf("%w: it follows epoch %d, so a deposed writer wrote it", ErrCorrupt, t.Epoch)
	}
	t.Number, t.Epoch = c.GetNumber(), c.GetEpoch()
	return nil
}

// Check returns [ErrCorrupt] unless the page was written behind the last commit.
func (t *Tail) Check(p *Page) error {
	if t.Number != 0 && (p.GetNumber() != t.Number || p.GetEpoch() != t.Epoch) {
		return fmt.Errorf(
			"%w: it was written behind commit %d of epoch %d, but the last one read is commit %d of epoch %d",
			ErrCorrupt, p.GetNumber(), p.GetEpoch(), t.Number, t.Epoch)
	}
	return nil
}
