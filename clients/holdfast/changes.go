package holdfast

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/holdfast-io/holdfast/messages"
	"github.com/holdfast-io/holdfast/messages/journal"
)

// step is what a follower brings: a commit of the shard with that index, or why there are no more.
type step struct {
	index  int
	commit stored
	err    error
}

// changes tells what all shards bring. Their followers wait until their turn comes, and have ended when
// it returns.
func (w *watch) changes(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	steps := make(chan step)
	var followers sync.WaitGroup
	defer followers.Wait()
	defer cancel()
	for i, j := range w.journals {
		f := &follower{journalReader: j, number: w.at.cursors[i].number}
		followers.Go(func() { f.bring(ctx, i, steps) })
	}
	var tick <-chan time.Time
	if w.terms.bookmarks > 0 {
		ticker := time.NewTicker(w.terms.bookmarks)
		defer ticker.Stop()
		tick = ticker.C
	}
	for !w.ended() {
		if err := w.next(ctx, steps, tick); err != nil {
			return err
		}
	}
	return errLeft
}

// ended reports whether all has been told that was asked for.
func (w *watch) ended() bool {
	for i, end := range w.end.cursors {
		if w.at.cursors[i].number < end.number {
			return false
		}
	}
	return !w.end.IsZero()
}

// bring sends what the follower reads to the loop, and why it ended.
func (f *follower) bring(ctx context.Context, index int, steps chan<- step) {
	send := func(s step) error {
		select {
		case steps <- s:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	err := f.follow(ctx, func(c stored) error { return send(step{index: index, commit: c}) })
	_ = send(step{err: err}) // unless nobody wants to know any more
}

func (w *watch) next(ctx context.Context, steps <-chan step, tick <-chan time.Time) error {
	select {
	case s := <-steps:
		if s.err != nil {
			return s.err
		}
		return w.tell(s)
	case <-tick:
		if w.moved {
			return w.bookmark()
		}
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// tell yields what the pattern selects of a commit, but for what was told before the watch.
func (w *watch) tell(s step) error {
	at := w.at.cursors[s.index]
	events := slices.DeleteFunc(journal.Events(at.shard, s.commit.position, s.commit.Commit), func(m *messages.Event) bool {
		return m.GetIndex() < at.index || !w.terms.wants(EventKind(m.GetKind())) || !selects(w.pattern, m.GetLease().GetResource())
	})
	done := cursor{shard: at.shard, number: s.commit.GetNumber()}
	for i, m := range events {
		e := newEvent(m)
		e.before, e.after = w.at, done
		if i < len(events)-1 {
			e.after = cursor{shard: done.shard, number: done.number - 1, index: m.GetIndex() + 1}
		}
		if !w.yield(e, nil) {
			return errLeft
		}
	}
	w.at, w.moved = w.at.with(done), len(events) == 0
	return nil
}
