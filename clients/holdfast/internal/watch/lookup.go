package watch

import (
	"context"
	"errors"
	"fmt"
	"sort"
	"time"
)

// behind returns the position from which on the commits behind that number can be read, and the commit of that number if
// it is the last one. It is a [*CompactedError] if the next of them has been purged. A server that is behind may not
// have a commit yet, so it is asked for some time before the journal is considered shorter.
func (r *Reader) behind(ctx context.Context, number uint64) (position uint64, last *stored, err error) {
	for range staleTries {
		position, last, err = r.lookBehind(ctx, number)
		if !errors.Is(err, errAgain) {
			return position, last, err
		}
		if r.pause(ctx, longestPause) != nil {
			break
		}
	}
	return 0, nil, &Error{Invalid: true, Cause: fmt.Errorf(
		"position: its journal has no commit %d; "+
			"it is another deployment's, or the bucket was restored from an older copy", number)}
}

func (r *Reader) lookBehind(ctx context.Context, number uint64) (uint64, *stored, error) {
	next, err := r.commit(ctx, number+1)
	if err != nil || next != nil {
		return next.place(), nil, err
	}
	last, err := r.commit(ctx, number)
	if err != nil || last != nil {
		return last.place() + 1, last, err
	}
	first, err := r.first(ctx)
	switch {
	case err != nil:
		return 0, nil, err
	case first != nil && first.GetNumber() > number+1:
		return 0, nil, compacted(r.shard, first)
	case first == nil && number == 0:
		return 1, nil, nil
	}
	return 0, nil, errAgain
}

// oldest returns the oldest commit of a journal that has one. A server that is behind may not have it yet.
func (r *Reader) oldest(ctx context.Context) (*stored, error) {
	for range staleTries {
		first, err := r.first(ctx)
		if err != nil || first != nil {
			return first, err
		}
		if err := r.pause(ctx, longestPause); err != nil {
			return nil, err
		}
	}
	return nil, unavailable(fmt.Errorf("stream %s: it has no commit", r.name))
}

// beginning returns the Cursor behind the commit with which a journal begins that was filled from those of the
// generation before. It is a [*CompactedError] if that one has been purged.
func beginning(ctx context.Context, r *Reader) (Cursor, error) {
	first, err := r.oldest(ctx)
	switch {
	case err != nil:
		return Cursor{}, err
	case !first.begins():
		return Cursor{}, compacted(r.shard, first)
	}
	return Cursor{shard: r.shard.Number, number: first.GetNumber()}, nil // mutant: WatchRepeatsTheCopy
}

func (s *stored) place() uint64 {
	if s == nil {
		return 0
	}
	return s.position
}

// since returns the number of the last commit that was made before t. It is a [*CompactedError] if that one
// has been purged, so that others behind it may have been too, or is in a journal of the generation before: the first
// commit of a journal is made while that one is in use.
func (r *Reader) since(ctx context.Context, t time.Time) (uint64, error) {
	first, err := r.first(ctx)
	if err != nil || first == nil {
		return 0, err
	}
	last, err := r.last(ctx)
	if err != nil || last == nil {
		return 0, err
	}
	low := first.GetNumber()
	n := sort.Search(int(last.GetNumber()-low)+1, func(i int) bool {
		c, failed := r.commit(ctx, low+uint64(i))
		if failed != nil {
			err = failed
		}
		return c != nil && !c.at().Before(t) // what is gone is old
	})
	later := r.shard.Generation > 0 && first.begins()
	if err == nil && low > 1 && (n == 0 || n == 1 && later) {
		gone := compacted(r.shard, first)
		gone.begins = later // mutant: WatchSinceForgetsFormerShards
		err = gone
	}
	return low + uint64(n) - 1, err
}

// now returns the Cursor behind all that there is.
func (r *Reader) now(ctx context.Context) (Cursor, error) {
	at := Cursor{shard: r.shard.Number}
	last, err := r.last(ctx)
	if last != nil {
		at.number = last.GetNumber()
	}
	return at, err
}
