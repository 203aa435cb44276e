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

// readIdle is how long the reader waits for a message before it looks whether one is missing.
const readIdle = time.Second

// Replay passes every stored record behind position after to apply, in order. It returns the position of the
// last record at the time of the call; later records are not read. Positions have gaps where records were
// replaced or purged, also while it reads. It returns an error of apply unchanged.
//
// It may miss the newest records if a deposed leader answers. An [Bucket.Append] behind the returned position
// is then refused. A record that cannot be decoded, a foreign key and a delete marker are
// [journal.ErrCorrupt]. A bucket that is being restored is [ErrUnfinished].
func (b *Bucket) Replay(ctx context.Context, after uint64,
	apply func(position uint64, r *journal.Record) error) (uint64, error) {
	last, err := b.End(ctx)
	if err != nil {
		return 0, fmt.Errorf("bucket %s: cannot be read: %w", b.name, err)
	}
	if last < after {
		return 0,
			fmt.Errorf("bucket %s: ends at position %d, before %d: the server is behind, or the bucket was replaced",
				b.name, last, after)
	}
	r := reader{Bucket: b, at: after, last: last, apply: apply}
	if err := r.readAll(ctx); err != nil {
		return 0, err
	}
	return last, nil
}

// End returns the position of the bucket's last record. It repeats the request until it is answered or ctx ends. A
// deposed leader may answer, which lacks the newest records. A bucket that is being restored is [ErrUnfinished]: a node
// that opened the deployment before it was lost may ask.
func (b *Bucket) End(ctx context.Context) (uint64, error) {
	var info *jetstream.StreamInfo
	err := b.untilAnswered(ctx, func() (err error) {
		info, err = b.info(ctx)
		return err
	})
	if err == nil {
		err = checkFinished(b.name, info.Config)
	}
	if err != nil {
		return 0, err
	}
	return info.State.LastSeq, nil
}

// First returns the number of the bucket's oldest commit, 0 if it has none. It repeats the request until it is answered
// or ctx ends. A deposed leader may answer, which still has commits that were purged. A commit that cannot be decoded
// is [journal.ErrCorrupt].
func (b *Bucket) First(ctx context.Context) (number uint64, err error) {
	var m *jetstream.RawStreamMsg
	err = b.untilAnswered(ctx, func() (err error) {
		m, err = b.first(ctx, 1, b.subject+journal.CommitKeys+">")
		if errors.Is(err, jetstream.ErrMsgNotFound) {
			return nil
		}
		return err
	})
	if err != nil {
		return 0, fmt.Errorf("bucket %s: cannot read the oldest commit: %w", b.name, err)
	}
	if m == nil {
		return 0, nil
	}
	d := b.parse(m.Sequence, m.Subject, m.Header, m.Data)
	if d.err != nil {
		return 0, b.errorAt(d.position, d.key, fmt.Errorf("%w: %w", journal.ErrCorrupt, d.err))
	}
	return d.record.GetCommit().GetNumber(), nil
}

// untilAnswered repeats a request until it is answered, cannot be answered, or ctx ends.
func (b *Bucket) untilAnswered(ctx context.Context, send func() error) error {
	var backoff retry.Backoff
	for {
		err := send()
		if err == nil {
			return nil
		}
		if cause := jsapi.PermanentError(b.nc, err); cause != nil {
			return cause
		}
		if ended := backoff.Wait(ctx); ended != nil {
			return fmt.Errorf("%w; last: %w", ended, err)
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

// errInterrupted says that the consumer has to be replaced: it was lost, or has skipped a message.
var errInterrupted = errors.New("reader interrupted")

func (r *reader) readAll(ctx context.Context) error {
	var backoff retry.Backoff
	for r.at < r.last {
		before := r.at
		err := r.read(ctx)
		if err == nil {
			return nil
		}
		if !errors.Is(err, errInterrupted) {
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

// read reads to the end with one consumer, or without a consumer if none can be created now.
func (r *reader) read(ctx context.Context) error {
	f, err := r.feed(ctx)
	if jsapi.PermanentError(r.nc, err) != nil {
		return fmt.Errorf("%w: %w", errInterrupted, err)
	}
	if err != nil {
		return r.walk(ctx)
	}
	defer f.close()
	pending := f.consumer.CachedInfo().NumPending
	for number := uint64(1); ; number++ {
		a, err := r.next(ctx, f, pending)
		if a == nil {
			return err
		}
		if a.number != number {
			return fmt.Errorf("%w: a message is missing", errInterrupted)
		}
		if a.position <= r.last {
			if err := r.applyRecord(a); err != nil {
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
func (r *reader) next(ctx context.Context, f *feed, pending uint64) (*delivery, error) {
	if pending == 0 {
		if ended, err := r.ended(ctx); ended || err != nil {
			return nil, err
		}
	}
	idle := time.NewTimer(readIdle)
	defer idle.Stop()
	select {
	case a := <-f.deliveries:
		return a, nil
	case err := <-f.failures:
		return nil, fmt.Errorf("%w: %w", errInterrupted, err)
	case <-ctx.Done():
		return nil, fmt.Errorf("bucket %s: read up to position %d of %d: %w", r.name, r.at, r.last, ctx.Err())
	case <-idle.C:
		if ended, err := r.ended(ctx); ended || err != nil {
			return nil, err
		}
		return nil, fmt.Errorf("%w: no message for %v", errInterrupted, readIdle)
	}
}

// applyRecord applies one record.
func (r *reader) applyRecord(a *delivery) error {
	if a.err != nil {
		return r.errorAt(a.position, a.key, fmt.Errorf("%w: %w", journal.ErrCorrupt, a.err))
	}
	if err := r.apply(a.position, a.record); err != nil {
		return err
	}
	r.at = a.position
	return nil
}

// ended reports whether all messages up to the last position are gone, because they were purged. An empty
// consumer proves nothing: it is on any one of the replicas, which may be behind. The answer has to come from
// a server that has seen the last position.
func (r *reader) ended(ctx context.Context) (bool, error) {
	m, err := r.first(ctx, r.at+1, ">")
	if err == nil {
		return m.Sequence > r.last, nil
	}
	if !errors.Is(err, jetstream.ErrMsgNotFound) {
		return false, fmt.Errorf("%w: %w", errInterrupted, err)
	}
	info, err := r.info(ctx, jetstream.WithDeletedDetails(true))
	if err != nil {
		return false, fmt.Errorf("%w: %w", errInterrupted, err)
	}
	state := info.State
	start := max(r.at+1, state.FirstSeq)
	if start > r.last {
		return true, nil
	}
	// A server that has not seen the last position does not list it as deleted either.
	from, _ := slices.BinarySearch(state.Deleted, start)
	to, _ := slices.BinarySearch(state.Deleted, r.last+1)
	return uint64(to-from) == r.last-start+1, nil
}
