package holdfast

import (
	"context"
	"errors"
	"fmt"
	"sort"
	"time"
)

// behind returns the position from which on the commits behind that number can be read. It is a
// [*compaction] if the next of them has been purged. That a commit is not there yet may be the word of a
// server that is behind, so it is asked for some time before the journal is said to be shorter.
func (j *journalReader) behind(ctx context.Context, number uint64) (position uint64, err error) {
	for range staleTries {
		position, err = j.lookBehind(ctx, number)
		if !errors.Is(err, errAgain) {
			return position, err
		}
		if j.rest(ctx, longestPause) != nil {
			break
		}
	}
	return 0, j.wrong(ErrInvalid, fmt.Errorf("position: its journal has no commit %d; it is another deployment's, or the bucket was restored from an older copy", number))
}

func (j *journalReader) lookBehind(ctx context.Context, number uint64) (uint64, error) {
	next, err := j.commit(ctx, number+1)
	if err != nil || next != nil {
		return next.place(), err
	}
	last, err := j.commit(ctx, number)
	if err != nil || last != nil {
		return last.place() + 1, err
	}
	first, err := j.first(ctx)
	switch {
	case err != nil:
		return 0, err
	case first != nil && first.GetNumber() > number+1:
		return 0, &compaction{shard: j.shard, oldest: first}
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

// compaction says that what stands before the oldest commit is gone.
type compaction struct {
	shard  uint32
	oldest *stored
}

// Error returns what a log shows; callers of a watch get a [CompactedError].
func (e *compaction) Error() string {
	return fmt.Sprintf("shard %d begins with commit %d", e.shard, e.oldest.GetNumber())
}

// cursor is before the oldest commit.
func (e *compaction) cursor() cursor {
	return cursor{shard: e.shard, number: e.oldest.GetNumber() - 1}
}

// since returns the number of the last commit that was made before t. It is a [*compaction] if that one
// has been purged, so that others behind it may have been too.
func (j *journalReader) since(ctx context.Context, t time.Time) (uint64, error) {
	first, err := j.first(ctx)
	if err != nil || first == nil {
		return 0, err
	}
	last, err := j.last(ctx)
	if err != nil || last == nil {
		return 0, err
	}
	low := first.GetNumber()
	n := sort.Search(int(last.GetNumber()-low)+1, func(i int) bool {
		c, failed := j.commit(ctx, low+uint64(i))
		if failed != nil {
			err = failed
		}
		return c != nil && !c.at().Before(t) // what is gone is old
	})
	if err == nil && n == 0 && low > 1 {
		err = &compaction{shard: j.shard, oldest: first}
	}
	return low + uint64(n) - 1, err
}

// now returns the cursor behind all that there is.
func (j *journalReader) now(ctx context.Context) (cursor, error) {
	at := cursor{shard: j.shard}
	last, err := j.last(ctx)
	if last != nil {
		at.number = last.GetNumber()
	}
	return at, err
}
