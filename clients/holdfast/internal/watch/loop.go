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

// Loop yields what happens in the journals of several shards. When the deployment gets another number of shards, it
// reads the former journals to their ends, and then the next ones. It belongs to one goroutine.
type Loop struct {
	options    Options
	source     Source
	generation *generation
	yield      func(Step) bool
	// at is how far it has come, end where to stop: nowhere, if it is zero.
	at, end Position
	// moved: it has come further than was yielded.
	moved bool
	// absent is since when the next generation is not there, though its journals were closed for it; zero: it is.
	absent time.Time
}

// ErrLeft says that the loop was left, or ended as [Options.UntilNow] says.
var ErrLeft = errors.New("loop left")

// NewLoop opens the journals that the options select, of a deployment with these shards, and finds where to begin in
// them. If commits are missing there, it is a [*CompactedError].
func NewLoop(ctx context.Context, src Source, shards messages.Shards, t Options) (*Loop, error) {
	l := &Loop{options: t, source: src}
	return l, l.begin(ctx, shards)
}

// begin finds the position to begin at, and the one to stop at.
func (l *Loop) begin(ctx context.Context, shards messages.Shards) error {
	from := l.options.From
	if l.options.UntilNow || from.generation > shards.Generation { // there may be later ones, which end the loop
		if present, err := askOnce(ctx, l.source.Shards); err == nil {
			shards = present
		}
	}
	g, err := l.open(ctx, shards)
	if err == nil && l.options.UntilNow {
		l.end, err = g.now(ctx)
	}
	if err == nil && !from.IsZero() && from.generation != g.Generation {
		g, err = l.openAt(ctx, from, g)
	}
	for err == nil {
		err = l.enter(ctx, g, l.start)
		gone := (*CompactedError)(nil)
		if !errors.As(err, &gone) || !gone.begins {
			return err
		}
		former, failed := l.former(ctx, g)
		if failed == nil && former == nil {
			return gone
		}
		g, err = former, failed
	}
	return err
}

// start returns where to begin in one shard; nowhere yet, if the present holders are yielded before.
func (l *Loop) start(ctx context.Context, r *Reader) (Cursor, error) {
	at := Cursor{shard: r.shard.Number}
	switch {
	case !l.options.From.IsZero():
		at, ok := l.options.From.of(r.shard.Number)
		if !ok {
			return at, invalid("position", "one of all shards that the pattern can touch", l.options.From.String())
		}
		_, _, err := r.behind(ctx, at.number)
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
	if gone := (*CompactedError)(nil); errors.As(err, &gone) && gone.Oldest.IsZero() {
		gone.Oldest = Advance(l.at, gone.cursor)
	}
	return err
}

// present yields the holders of one shard after the other.
func (l *Loop) present(ctx context.Context) error {
	for _, r := range l.generation.journals {
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
		l.at = Advance(l.at, Cursor{shard: r.shard.Number, number: h.number})
	}
	return nil
}

// mark yields a bookmark if the loop has come further without an event.
func (l *Loop) mark() error {
	if !l.moved {
		return nil
	}
	return l.bookmark()
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

// changes yields what all shards bring, of one generation after the other.
func (l *Loop) changes(ctx context.Context) error {
	var tick <-chan time.Time
	if l.options.Bookmarks > 0 {
		ticker := time.NewTicker(l.options.Bookmarks)
		defer ticker.Stop()
		tick = ticker.C
	}
	for {
		closed, err := l.read(ctx, tick)
		if err == nil {
			err = l.follow(ctx, closed)
		}
		if err != nil {
			return err
		}
	}
}

// read yields what the shards of the generation bring, and returns what has closed them for good. Each follower waits
// until its commit is taken, and has ended when read returns.
func (l *Loop) read(ctx context.Context, tick <-chan time.Time) (*journal.Closed, error) {
	reading, cancel := context.WithCancel(ctx)
	arrivals := make(chan arrival)
	var followers sync.WaitGroup
	defer followers.Wait()
	defer cancel()
	for i, r := range l.generation.journals {
		f := &follower{Reader: r, sequence: sequence{number: l.at.cursors[i].number}}
		followers.Go(func() { f.bring(reading, i, arrivals) })
	}
	var look <-chan time.Time
	var pause time.Duration
	for !l.ended() {
		closed := l.generation.closing()
		switch {
		case closed == nil:
			look, pause, l.absent = nil, 0, time.Time{}
		case look == nil:
			final, err := l.isFinal(ctx, closed)
			if err != nil || final {
				return closed, err
			}
			pause = min(max(2*pause, shortestPause), longestLook)
			look = time.After(pause)
		}
		select {
		case <-look:
			look = nil
		case a := <-arrivals:
			if err := l.take(a); err != nil {
				return nil, err
			}
		case <-tick:
			if err := l.mark(); err != nil {
				return nil, err
			}
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	return nil, ErrLeft
}

// ended reports whether all has been yielded that was asked for.
func (l *Loop) ended() bool {
	if l.at.generation != l.end.generation {
		return !l.end.IsZero() && l.at.generation > l.end.generation
	}
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

// take yields what is selected of a commit, but for what was yielded before the loop.
func (l *Loop) take(a arrival) error {
	if a.err != nil {
		return a.err
	}
	l.generation.closed[a.index] = a.commit.GetClosed()
	at := l.at.cursors[a.index]
	if a.commit.GetNumber() <= at.number {
		return nil // the loop begins behind it
	}
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
