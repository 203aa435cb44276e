package watch

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/holdfast-io/holdfast/messages"
	"github.com/holdfast-io/holdfast/messages/journal"
)

// generation is the journals of one generation of shards that a loop reads.
type generation struct {
	messages.Shards
	journals []*Reader
	// closed is what the latest commit of each journal that was read says; nil: it does not close the journal.
	closed []*journal.Closed
}

// open opens the journals of a generation.
func (l *Loop) open(ctx context.Context, of messages.Shards) (*generation, error) {
	shards := l.options.shards(of)
	g := &generation{Shards: of, closed: make([]*journal.Closed, len(shards))}
	for _, shard := range shards {
		r, err := Open(ctx, l.source, shard, patience)
		if err != nil {
			return nil, err
		}
		g.journals = append(g.journals, r)
	}
	return g, nil
}

// shards returns the shards that the selection can touch.
func (s Selection) shards(of messages.Shards) []messages.Shard {
	if key := s.Pattern.String(); !strings.ContainsAny(key, "*>") {
		return []messages.Shard{of.Of(key)}
	}
	all := make([]messages.Shard, of.Count)
	for i := range all {
		all[i] = of.Shard(uint32(i))
	}
	return all
}

// now returns the position behind all that there is.
func (g *generation) now(ctx context.Context) (Position, error) {
	p := Position{generation: g.Generation}
	for _, r := range g.journals {
		c, err := r.now(ctx)
		if err != nil {
			return Position{}, err
		}
		p.cursors = append(p.cursors, c)
	}
	return p, nil
}

// openAt opens the journals of a position, which is of another generation than the present one.
func (l *Loop) openAt(ctx context.Context, p Position, present *generation) (*generation, error) {
	first, err := Open(ctx, l.source, messages.Shard{Generation: p.generation}, formerPatience)
	switch {
	case !errors.Is(err, jetstream.ErrStreamNotFound):
	case p.generation > present.Generation:
		return nil, invalid("position", "of a generation of shards that the deployment has had", p.String())
	default:
		return nil, l.gone(ctx, present)
	}
	if err != nil {
		return nil, err
	}
	shards, err := first.shards()
	if err != nil {
		return nil, err
	}
	return l.open(ctx, shards)
}

// former returns the generation before another one, nil if it is not there any more.
func (l *Loop) former(ctx context.Context, g *generation) (*generation, error) {
	for n := g.Generation; n > 0; n-- {
		r, err := Open(ctx, l.source, messages.Shard{Generation: n - 1}, 0)
		if errors.Is(err, jetstream.ErrStreamNotFound) {
			continue // it was voided, or has been removed
		}
		if err != nil {
			return nil, err
		}
		last, err := r.last(ctx)
		if err != nil {
			return nil, err
		}
		if last == nil || last.GetClosed().GetGeneration() != g.Generation {
			continue
		}
		shards, err := r.shards()
		if err != nil {
			return nil, err
		}
		return l.open(ctx, shards)
	}
	return nil, nil
}

// enter has the loop read the journals of a generation, each from where start says. If commits are missing there, it
// reports that as soon as it knows the oldest position of every shard.
func (l *Loop) enter(ctx context.Context, g *generation, start func(context.Context, *Reader) (Cursor, error)) error {
	at := Position{generation: g.Generation}
	var missing *CompactedError
	for _, r := range g.journals {
		c, err := start(ctx, r)
		if gone := (*CompactedError)(nil); errors.As(err, &gone) {
			c, err = gone.cursor, nil
			if missing == nil {
				missing = gone
			}
		}
		if err != nil {
			return err
		}
		at.cursors = append(at.cursors, c)
	}
	if missing != nil {
		missing.Oldest = at
		return missing
	}
	l.generation, l.at = g, at
	return nil
}

// gone says that all of former generations is missing, but not where g begins.
func (l *Loop) gone(ctx context.Context, g *generation) error {
	return l.enter(ctx, g, func(ctx context.Context, r *Reader) (Cursor, error) {
		first, err := r.oldest(ctx)
		if err != nil {
			return Cursor{}, err
		}
		return Cursor{}, compacted(r.shard, first)
	})
}

// closing returns what closes all journals of the generation, as far as they have been read; nil: one goes on.
func (g *generation) closing() *journal.Closed {
	first := g.closed[0]
	for _, c := range g.closed {
		if c.GetGeneration() != first.GetGeneration() { // mutant: WatchLeavesAJournalEarly
			return nil
		}
	}
	return first
}

// follow has the loop go on in the generation that has closed its journals.
func (l *Loop) follow(ctx context.Context, c *journal.Closed) error {
	next := messages.Shards{Generation: c.GetGeneration(), Count: c.GetShards()}
	if next.Generation <= l.generation.Generation || next.Count < 1 || next.Count > messages.MaxShards {
		return unavailable(fmt.Errorf("generation %d of shards: %w: it was closed for generation %d of %d shards",
			l.generation.Generation, journal.ErrCorrupt, next.Generation, next.Count))
	}
	g, err := l.open(ctx, next)
	if err != nil {
		return err
	}
	l.moved = true
	return l.enter(ctx, g, beginning)
}

// isFinal reports whether journals are closed for good. That a later generation is in use proves nothing: the one that
// they were closed for may have been voided. Only if it was in use, its own journals are closed. If they are not there
// any more and no commit comes, it is a [*CompactedError].
func (l *Loop) isFinal(ctx context.Context, c *journal.Closed) (bool, error) {
	present, err := askOnce(ctx, l.source.Shards)
	switch {
	case err != nil || present.Generation < c.GetGeneration():
		return false, nil // mutant: PendingCloseIsFinal
	case present.Generation == c.GetGeneration(): // mutant: VoidedCloseIsFinal
		return true, nil
	}
	r, err := Open(ctx, l.source, messages.Shard{Generation: c.GetGeneration()}, 0)
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		return false, l.vanished(ctx, present)
	}
	if err != nil {
		return false, err
	}
	l.absent = time.Time{}
	last, err := r.last(ctx)
	return last != nil && last.GetClosed() != nil, err
}

// vanished receives that the journals are not there for which those that are read were closed. It is an error when that
// is so for long: a voided attempt would have been followed by a commit.
func (l *Loop) vanished(ctx context.Context, present messages.Shards) error {
	if l.absent.IsZero() {
		l.absent = time.Now()
	}
	if time.Since(l.absent) < patience {
		return nil
	}
	g, err := l.open(ctx, present)
	if err != nil {
		return err
	}
	return l.gone(ctx, g)
}
