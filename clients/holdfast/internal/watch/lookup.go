package watch

import (
	"context"
	"errors"
	"fmt"
	"sort"
	"time"
)

// behind returns the position from which on the commits behind that number can be read. It is a
// [*CompactedError] if the next of them has been purged. A server that is behind may not
// have a commit yet, so it is asked for some time before the journal is considered shorter.
func (r *Reader) behind(ctx context.Context, number uint64) (position uint64, err error) {
	for range staleTries {
		position, err = r.lookBehind(ctx, number)
		if !errors.Is(err, errAgain) {
			return position, err
		}
		if r.pause(ctx, longestPause) != nil {
			break
		}
	}
	return 0, &Error{Invalid: true, Cause: fmt.Errorf(
		"position: its journal has no commit %d; "+
			"it is another deployment's, or the bucket was restored from an older copy", number)}
}

func (r *Reader) lookBehind(ctx context.Context, number uint64) (uint64, error) {
	next, err := r.commit(ctx, number+1)
	if err != nil || next != nil {
		return next.place(), err
	}
	last, err := r.commit(ctx, number)
	if err != nil || last != nil {
		return last.place() + 1, err
	}
	first, err := r.first(ctx)
	switch {
	case err != nil:
		return 0, err
	case first != nil && first.GetNumber() > number+1:
		return 0, compacted(r.shard, first)
	case first == nil && number == 0:
		return 1, nil
	}
	return 0, errAgain
}

func (s *stored) place() uint64 {
	if s == nil {
		return 0
	}
	return s.position
}

// since returns the number of the last commit that was made before t. It is a [*CompactedError] if that one
// has been purged, so that others behind it may have been too.
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
	if err == nil && n == 0 && low > 1 {
		err = compacted(r.shard, first)
	}
	return low + uint64(n) - 1, err
}

// now returns the Cursor behind all that there is.
func (r *Reader) now(ctx context.Context) (Cursor, error) {
	at := Cursor{shard: r.shard}
	last, err := r.last(ctx)
	if last != nil {
		at.number = last.GetNumber()
	}
	return at, err
}
