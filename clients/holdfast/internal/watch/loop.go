package watch

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/holdfast-io/holdfast/messages"
	"github.com/holdfast-io/holdfast/messages/journal"
)

// Options say where a loop begins and what it yields.
type Options struct {
	Selection
	// From is the position to begin behind. If it is zero, Since is the time to begin at; if that is nil too,
	// the loop begins now, after the present holders if Present is set.
	From    Position
	Since   *time.Time
	Present bool
	// Kinds are those of the changes that are yielded; nil: all.
	Kinds []messages.Event_Kind
	// UntilNow: the loop ends where the journals ended when it began.
	UntilNow bool
	// Bookmarks is how often a bookmark is yielded if only changes came that are not; 0: never.
	Bookmarks time.Duration
}

func (o *Options) wants(k messages.Event_Kind) bool {
	return o.Kinds == nil || slices.Contains(o.Kinds, k)
}

// Step is one thing that a loop yields: a change, a lease that is held, or, if both are nil, a bookmark.
type Step struct {
	Change  *messages.Event
	Present *messages.Lease
	// Before is the position before the step. Behind a change it is advanced by After; before all holders are
	// yielded it is zero.
	Before Position
	After  Cursor
}

// Loop yields what happens in the journals of several shards. It belongs to one goroutine.
type Loop struct {
	options  Options
	journals []*Reader
	yield    func(Step) bool
	// at is how far it has come, end where to stop: nowhere, if it is zero.
	at, end Position
	// moved: it has come further than was yielded.
	moved bool
}

// ErrLeft says that the loop was left, or ended as [Options.UntilNow] says.
var ErrLeft = errors.New("loop left")

// NewLoop opens the journals of the shards, and finds where to begin in them. If commits are missing there,
// it is a [*CompactedError].
func NewLoop(ctx context.Context, src Source, shards []uint32, t Options) (*Loop, error) {
	l := &Loop{options: t}
	for _, shard := range shards {
		r, err := Open(ctx, src, shard)
		if err != nil {
			return nil, err
		}
		l.journals = append(l.journals, r)
	}
	return l, l.begin(ctx)
}

// begin finds the position to begin at, and the one to stop at. If commits are missing behind the former, it
// reports that as soon as it knows the oldest position of every shard.
func (l *Loop) begin(ctx context.Context) error {
	var missing *CompactedError
	for _, r := range l.journals {
		if l.options.UntilNow {
			end, err := r.now(ctx)
			if err != nil {
				return err
			}
			l.end.cursors = append(l.end.cursors, end)
		}
		at, err := l.start(ctx, r)
		if gone := (*CompactedError)(nil); errors.As(err, &gone) {
			at, err = gone.cursor, nil
			if missing == nil {
				missing = gone
			}
		}
		if err != nil {
			return err
		}
		l.at.cursors = append(l.at.cursors, at)
	}
	if missing != nil {
		missing.Oldest = Advance(l.at, missing.cursor)
		return missing
	}
	return nil
}

// start returns where to begin in one shard; nowhere yet, if the present holders are yielded before.
func (l *Loop) start(ctx context.Context, r *Reader) (Cursor, error) {
	at := Cursor{shard: r.shard}
	switch {
	case !l.options.From.IsZero():
		at, ok := l.options.From.of(r.shard)
		if !ok {
			return at, invalid("position", "one of all shards that the pattern can touch", l.options.From.String())
		}
		_, err := r.behind(ctx, at.number)
		return at, err
	case l.options.Since != nil:
		number, err := r.since(ctx, *l.options.Since)
		at.number = number
		return at, err
	case l.options.Present:
		return at, nil
	}
	return r.now(ctx)
}

// Run yields what is asked for until yield returns false or an error ends it. It returns [ErrLeft], a
// [*CompactedError], an [*Error], or the context's error.
func (l *Loop) Run(ctx context.Context, yield func(Step) bool) error {
	l.yield = yield
	present := l.options.Present && l.options.From.IsZero()
	if present {
		if err := l.present(ctx); err != nil {
			return err
		}
	}
	if present || l.options.Bookmarks > 0 {
		if err := l.bookmark(); err != nil {
			return err
		}
	}
	err := l.changes(ctx)
	if gone := (*CompactedError)(nil); errors.As(err, &gone) {
		gone.Oldest = Advance(l.at, gone.cursor)
	}
	return err
}

// present yields the holders of one shard after the other.
func (l *Loop) present(ctx context.Context) error {
	for _, r := range l.journals {
		h, err := r.holders(ctx, l.options.Selection)
		if err != nil {
			return err
		}
		for _, g := range h.grants() {
			lease := g.Lease(0)
			lease.Tenant, _ = messages.Unqualify(g.GetResource())
			if !l.yield(Step{Present: lease}) {
				return ErrLeft
			}
		}
		l.at = Advance(l.at, Cursor{shard: r.shard, number: h.number})
	}
	return nil
}

func (l *Loop) bookmark() error {
	l.moved = false
	if !l.yield(Step{Before: l.at}) {
		return ErrLeft
	}
	return nil
}

// arrival is what a follower brings: a commit of the shard with that index, or why there are no more.
type arrival struct {
	index  int
	commit stored
	err    error
}

// changes yields what all shards bring. Each follower waits until its commit is taken, and has ended when
// changes returns.
func (l *Loop) changes(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	arrivals := make(chan arrival)
	var followers sync.WaitGroup
	defer followers.Wait()
	defer cancel()
	for i, r := range l.journals {
		f := &follower{Reader: r, sequence: sequence{number: l.at.cursors[i].number}}
		followers.Go(func() { f.bring(ctx, i, arrivals) })
	}
	var tick <-chan time.Time
	if l.options.Bookmarks > 0 {
		ticker := time.NewTicker(l.options.Bookmarks)
		defer ticker.Stop()
		tick = ticker.C
	}
	for !l.ended() {
		if err := l.next(ctx, arrivals, tick); err != nil {
			return err
		}
	}
	return ErrLeft
}

// ended reports whether all has been yielded that was asked for.
func (l *Loop) ended() bool {
	for i, end := range l.end.cursors {
		if l.at.cursors[i].number < end.number {
			return false
		}
	}
	return !l.end.IsZero()
}

// bring sends what the follower reads to the loop, and why it ended.
func (f *follower) bring(ctx context.Context, index int, arrivals chan<- arrival) {
	send := func(a arrival) error {
		select {
		case arrivals <- a:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	err := f.follow(ctx, func(c stored) error { return send(arrival{index: index, commit: c}) })
	_ = send(arrival{err: err}) // unless the loop has ended
}

func (l *Loop) next(ctx context.Context, arrivals <-chan arrival, tick <-chan time.Time) error {
	select {
	case a := <-arrivals:
		if a.err != nil {
			return a.err
		}
		return l.take(a)
	case <-tick:
		if l.moved {
			return l.bookmark()
		}
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// take yields what is selected of a commit, but for what was yielded before the loop.
func (l *Loop) take(a arrival) error {
	at := l.at.cursors[a.index]
	events := slices.DeleteFunc(journal.Events(at.shard, a.commit.position, a.commit.Commit),
		func(m *messages.Event) bool {
			return m.GetIndex() < at.index || !l.options.wants(m.GetKind()) ||
				!l.options.has(m.GetLease().GetTenant(), m.GetLease().GetResource())
		})
	done := Cursor{shard: at.shard, number: a.commit.GetNumber()}
	for i, m := range events {
		s := Step{Change: m, Before: l.at, After: done}
		if i < len(events)-1 {
			s.After = Cursor{shard: done.shard, number: done.number - 1, index: m.GetIndex() + 1}
		}
		if !l.yield(s) {
			return ErrLeft
		}
	}
	l.at, l.moved = Advance(l.at, done), len(events) == 0
	return nil
}
