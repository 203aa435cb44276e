package holdfast

import (
	"context"
	"errors"
	"fmt"

	"github.com/holdfast-io/holdfast/messages/journal"
)

// follower reads the commits of one shard, each once and in their order: the numbers of commits have no
// gaps, so that nothing is left out and nothing comes twice can be seen from them alone. Whatever was
// missed is read again; if it is gone, that is the end.
type follower struct {
	*journalReader
	// number and epoch are those of the last commit; epoch is 0 as long as none was read.
	number, epoch uint64
}

// follow hands over the commits behind the follower's number until ctx ends or something is wrong for
// good. It waits while deliver does.
func (f *follower) follow(ctx context.Context, deliver func(stored) error) error {
	for pause := shortestPause; ; pause = min(2*pause, longestPause) {
		before := f.number
		err := f.read(ctx, deliver)
		if ctx.Err() != nil || !errors.Is(err, errAgain) {
			return err
		}
		if f.number > before {
			pause = shortestPause
		}
		if err := f.rest(ctx, pause); err != nil {
			return err
		}
	}
}

// read reads with one consumer.
func (f *follower) read(ctx context.Context, deliver func(stored) error) error {
	from, err := f.behind(ctx, f.number)
	if err != nil {
		return err
	}
	return f.feed(ctx, from, journal.CommitKeys+">", func(position uint64, r *journal.Record) error {
		c := stored{r.GetCommit(), position}
		if c.GetNumber() <= f.number {
			return nil // a consumer on a server that is behind begins too early
		}
		if err := f.follows(c); err != nil {
			return err
		}
		f.number, f.epoch = c.GetNumber(), c.GetEpoch()
		return deliver(c)
	})
}

// follows checks that the commit is the next one, of a writer that was in its right.
func (f *follower) follows(c stored) error {
	epoch := f.epoch
	if c.GetOpened() {
		epoch++
	}
	switch {
	case c.GetNumber() != f.number+1:
		return fmt.Errorf("%w: commit %d came behind commit %d", errAgain, c.GetNumber(), f.number)
	case f.epoch != 0 && c.GetEpoch() != epoch:
		return f.corrupt(c.position, fmt.Errorf("commit %d of epoch %d came behind epoch %d", c.GetNumber(), c.GetEpoch(), f.epoch))
	}
	return nil
}
