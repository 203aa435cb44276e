package watch

import (
	"context"
	"errors"

	"github.com/holdfast-io/holdfast/messages/journal"
)

// follower reads the commits of one shard, each once and in their order. What was missed is read again; if
// it is gone, that is the end.
type follower struct {
	*Reader
	sequence
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
		if err := f.pause(ctx, pause); err != nil {
			return err
		}
	}
}

// read reads what is there and what follows. A server that is behind begins too early. The last commit is delivered
// although it has been read, because it may close the journal.
func (f *follower) read(ctx context.Context, deliver func(stored) error) error {
	from, last, err := f.behind(ctx, f.number)
	if err != nil {
		return err
	}
	if last != nil {
		if err := deliver(*last); err != nil {
			return err
		}
	}
	return f.Reader.read(ctx, from, journal.CommitKeys+">", func(position uint64, r *journal.Record) error {
		c := r.GetCommit()
		fresh, err := f.next(c)
		switch {
		case errors.Is(err, journal.ErrCorrupt):
			return f.corrupt(position, err)
		case err != nil || !fresh:
			return err
		}
		return deliver(stored{c, position})
	})
}
