package jetstream

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/holdfast-io/holdfast/jetstream/internal/jsapi"
	"github.com/holdfast-io/holdfast/jetstream/internal/retry"
	"github.com/holdfast-io/holdfast/messages/journal"
)

// readIdle is how long nothing may arrive before the reader asks what is wrong.
const readIdle = time.Second

// Replay hands every stored record behind position after to apply, in order, and returns the position
// of the last one that there was when it was called; what is stored later is not read. Positions have
// gaps where records were replaced or purged, also while it reads. An error of apply ends it and is
// returned as it is.
//
// It may miss the newest records if a deposed leader answers; an [Bucket.Append] behind the position
// that it returned is then refused. A record that cannot be read, a foreign key and a mark that
// somebody left by removing a key are [journal.ErrCorrupt].
func (b *Bucket) Replay(ctx context.Context, after uint64, apply func(position uint64, r *journal.Record) error) (uint64, error) {
	last, err := b.end(ctx)
	if err != nil {
		return 0, fmt.Errorf("bucket %s: cannot be read: %w", b.name, err)
	}
	if last < after {
		return 0, fmt.Errorf("bucket %s: ends at position %d, before %d: the server is behind, or the bucket was replaced", b.name, last, after)
	}
	r := reader{Bucket: b, at: after, last: last, apply: apply}
	if err := r.readAll(ctx); err != nil {
		return 0, err
	}
	return last, nil
}

// end returns the position of the bucket's last record. It asks until somebody answers.
func (b *Bucket) end(ctx context.Context) (uint64, error) {
	var backoff retry.Backoff
	for {
		state, err := b.state(ctx)
		if err == nil {
			return state.LastSeq, nil
		}
		if cause := jsapi.PermanentError(b.nc, err); cause != nil {
			return 0, cause
		}
		if ended := backoff.Wait(ctx); ended != nil {
			return 0, fmt.Errorf("%w; last: %w", ended, err)
		}
	}
}

// reader reads a bucket once, with as many consumers as it takes.
type reader struct {
	*Bucket
	at    uint64 // position up to which everything has been applied
	last  uint64 // position to read to
	apply func(uint64, *journal.Record) error
}

// errReread says that the consumer has to be replaced: it went away, or left something out.
var errReread = errors.New("reader interrupted")

func (r *reader) readAll(ctx context.Context) error {
	var backoff retry.Backoff
	for r.at < r.last {
		before := r.at
		err := r.read(ctx)
		if err == nil {
			return nil
		}
		if !errors.Is(err, errReread) {
			return err
		}
		if cause := jsapi.PermanentError(r.nc, err); cause != nil {
			return fmt.Errorf("bucket %s: cannot be read behind position %d: %w", r.name, r.at, cause)
		}
		if r.at > before {
			backoff.Reset()
		}
		if ended := backoff.Wait(ctx); ended != nil {
			return fmt.Errorf("bucket %s: read up to position %d of %d: %w; last: %w", r.name, r.at, r.last, ended, err)
		}
	}
	return nil
}

// read reads with one consumer, or without if there can be none just now, to the end unless it returns an
// error.
func (r *reader) read(ctx context.Context) error {
	f, err := r.feed(ctx)
	if jsapi.PermanentError(r.nc, err) != nil {
		return fmt.Errorf("%w: %w", errReread, err)
	}
	if err != nil {
		return r.walk(ctx)
	}
	defer f.leave()
	pending := f.consumer.CachedInfo().NumPending
	for number := uint64(1); ; number++ {
		a, err := r.next(ctx, f, pending)
		if a == nil {
			return err
		}
		if a.number != number {
			return fmt.Errorf("%w: a message is missing", errReread)
		}
		if a.position <= r.last {
			if err := r.take(a); err != nil {
				return err
			}
		}
		if a.position >= r.last {
			return nil
		}
		pending = a.pending
	}
}

// next returns the next message, or none and no error if none is left up to the last position.
func (r *reader) next(ctx context.Context, f *feed, pending uint64) (*arrival, error) {
	if pending == 0 {
		if ended, err := r.ended(ctx); ended || err != nil {
			return nil, err
		}
	}
	idle := time.NewTimer(readIdle)
	defer idle.Stop()
	select {
	case a := <-f.arrivals:
		return a, nil
	case err := <-f.trouble:
		return nil, fmt.Errorf("%w: %w", errReread, err)
	case <-ctx.Done():
		return nil, fmt.Errorf("bucket %s: read up to position %d of %d: %w", r.name, r.at, r.last, ctx.Err())
	case <-idle.C:
		if ended, err := r.ended(ctx); ended || err != nil {
			return nil, err
		}
		return nil, fmt.Errorf("%w: nothing came for %v", errReread, readIdle)
	}
}

// take applies one record.
func (r *reader) take(a *arrival) error {
	if a.err != nil {
		return r.wrong(a.position, a.key, fmt.Errorf("%w: %w", journal.ErrCorrupt, a.err))
	}
	if err := r.apply(a.position, a.record); err != nil {
		return err
	}
	r.at = a.position
	return nil
}

// ended tells whether nothing is left to read up to the last position, because what stood there has
// been purged. That the consumer has nothing more to give proves nothing: it lives on any one of the
// replicas, and that may be behind. It takes one server that has seen the last position.
func (r *reader) ended(ctx context.Context) (bool, error) {
	m, err := r.first(ctx, r.at+1, ">")
	if err == nil {
		return m.Sequence > r.last, nil
	}
	if !errors.Is(err, jetstream.ErrMsgNotFound) {
		return false, fmt.Errorf("%w: %w", errReread, err)
	}
	state, err := r.state(ctx, jetstream.WithDeletedDetails(true))
	if err != nil {
		return false, fmt.Errorf("%w: %w", errReread, err)
	}
	start := max(r.at+1, state.FirstSeq)
	if start > r.last {
		return true, nil
	}
	// A server that has not seen the last position does not list it as deleted either.
	from, _ := slices.BinarySearch(state.Deleted, start)
	to, _ := slices.BinarySearch(state.Deleted, r.last+1)
	return uint64(to-from) == r.last-start+1, nil
}
