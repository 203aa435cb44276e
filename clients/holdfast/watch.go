package holdfast

import (
	"context"
	"errors"
	"iter"
	"strings"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/holdfast-io/holdfast/clients/request"
	"github.com/holdfast-io/holdfast/messages"
)

// opWatch stands in errors.
const opWatch = "watch"

// Watch tells every change of the resources whose key the pattern selects, as in [Client.List], from now
// on or from where an option says. It reads the journals of the shards themselves: the changes of a shard
// come in their order, each once and none left out, through interruptions of the connection and changes
// of owners; those of different shards are merged as they come. Ephemeral leases are in no journal and
// make no events.
//
// It ends with the loop, where [UntilNow] says, or with an error, which is the last thing that it yields:
// the context's own; [ErrClosed]; [ErrCompacted] as a [CompactedError] when what comes next was purged,
// because the position is too old or the loop too slow; [ErrInvalid] if an option breaks a rule or the
// position belongs to another deployment; [ErrUnavailable] when the journal cannot be read: at the
// beginning if nobody answers in the client's timeout, later only if that is for good, such as a lack of
// permissions.
//
// A watch of one resource reads one shard, every other one all of them. No more is read ahead of the loop
// than 2 MiB or 256 commits of each, however slow it is. The goroutines of a watch have ended when the
// loop has. docs/events.md has the rights that the NATS user needs, which are more than a lock needs.
func (c *Client) Watch(ctx context.Context, pattern string, opts ...WatchOption) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		if err := given(ctx, opWatch, ""); err != nil {
			yield(Event{}, err)
			return
		}
		ctx, cancel := context.WithCancelCause(ctx)
		defer cancel(nil)
		stop := context.AfterFunc(c.life, func() { cancel(ErrClosed) })
		defer stop()
		w := &watch{c: c, yield: yield}
		err := w.open(ctx, pattern, opts)
		if err == nil {
			err = w.run(ctx)
		}
		if !errors.Is(err, errLeft) {
			yield(Event{}, w.failure(ctx, err))
		}
	}
}

// errLeft says that the loop has been left.
var errLeft = errors.New("loop left")

// watch is one loop over events. All in it belongs to the goroutine of the loop.
type watch struct {
	c        *Client
	yield    func(Event, error) bool
	pattern  messages.Pattern
	terms    watchTerms
	journals []*journalReader
	// at is how far it has come, end where to stop: nowhere, if it is zero.
	at, end Position
	// moved: it has come further than was told.
	moved bool
}

// open finds the journals and where to begin in them.
func (w *watch) open(ctx context.Context, pattern string, opts []WatchOption) (err error) {
	if w.pattern, err = messages.ParsePattern(pattern); err == nil {
		w.terms, err = newWatchTerms(opts)
	}
	if err != nil {
		return invalid(opWatch, "", err)
	}
	ctx, cancel := context.WithTimeoutCause(ctx, w.c.cfg.timeout, request.ErrNoAnswer)
	defer cancel()
	js, err := jetstream.New(w.c.nc)
	if err != nil {
		return &Error{Op: opWatch, Err: ErrUnavailable, Cause: err}
	}
	shards, err := w.shards(ctx)
	for _, shard := range shards {
		if err == nil {
			var j *journalReader
			j, err = w.c.openJournal(ctx, js, shard)
			w.journals = append(w.journals, j)
		}
	}
	if err != nil {
		return err
	}
	return w.begin(ctx)
}

// shards returns those that the pattern can touch.
func (w *watch) shards(ctx context.Context) ([]uint32, error) {
	info := w.c.deployment.info.Load()
	if info == nil {
		var err error
		if info, err = w.c.Info(ctx); err != nil {
			return nil, err
		}
	}
	if key := w.pattern.String(); !strings.ContainsAny(key, "*>") {
		return []uint32{messages.ShardOf(key, info.Shards)}, nil
	}
	all := make([]uint32, info.Shards)
	for i := range all {
		all[i] = uint32(i)
	}
	return all, nil
}

// begin finds the position to begin at, and the one to stop at. Where something is missing behind the
// former, it says so once it knows the oldest position of every shard.
func (w *watch) begin(ctx context.Context) error {
	var missing *compaction
	for _, j := range w.journals {
		if w.terms.untilNow {
			end, err := j.now(ctx)
			if err != nil {
				return err
			}
			w.end.cursors = append(w.end.cursors, end)
		}
		at, err := w.start(ctx, j)
		if gone := (*compaction)(nil); errors.As(err, &gone) {
			at, err = gone.cursor(), nil
			if missing == nil {
				missing = gone
			}
		}
		if err != nil {
			return err
		}
		w.at.cursors = append(w.at.cursors, at)
	}
	if missing != nil {
		return missing
	}
	return nil
}

// start returns where to begin in one shard; nowhere yet, if the present holders are told before.
func (w *watch) start(ctx context.Context, j *journalReader) (cursor, error) {
	at := cursor{shard: j.shard}
	switch {
	case !w.terms.from.IsZero():
		at, ok := w.terms.from.of(j.shard)
		if !ok {
			return at, invalid(opWatch, "", rule("position", "one of all shards that the pattern can touch", w.terms.from.String()))
		}
		_, err := j.behind(ctx, at.number)
		return at, err
	case w.terms.since != nil:
		number, err := j.since(ctx, *w.terms.since)
		at.number = number
		return at, err
	case w.terms.present:
		return at, nil
	}
	return j.now(ctx)
}

// run tells what is asked for, until something ends it.
func (w *watch) run(ctx context.Context) error {
	present := w.terms.present && w.terms.from.IsZero()
	if present {
		if err := w.present(ctx); err != nil {
			return err
		}
	}
	if present || w.terms.bookmarks > 0 {
		if err := w.bookmark(); err != nil {
			return err
		}
	}
	return w.changes(ctx)
}

// present tells the holders of one shard after the other.
func (w *watch) present(ctx context.Context) error {
	for _, j := range w.journals {
		h, err := j.holders(ctx, w.pattern)
		if err != nil {
			return err
		}
		for _, g := range h.grants() {
			if !w.yield(Event{Kind: EventPresent, Lease: *newLease(g.Lease(0))}, nil) {
				return errLeft
			}
		}
		w.at = w.at.with(cursor{shard: j.shard, number: h.number})
	}
	return nil
}

func (w *watch) bookmark() error {
	w.moved = false
	if !w.yield(Event{Kind: EventBookmark, before: w.at}, nil) {
		return errLeft
	}
	return nil
}

// failure returns what the loop is told at last.
func (w *watch) failure(ctx context.Context, err error) error {
	switch cause := context.Cause(ctx); {
	case errors.Is(cause, ErrClosed):
		return &Error{Op: opWatch, Err: ErrClosed}
	case cause != nil:
		return &Error{Op: opWatch, Err: request.ContextError(ctx)}
	}
	if gone := (*compaction)(nil); errors.As(err, &gone) {
		return &CompactedError{Shard: gone.shard, Oldest: w.at.with(gone.cursor()), Begins: gone.oldest.at()}
	}
	return err
}
