package jetstream

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/nats-io/nats.go/jetstream"
)

// window is how many requests of a walk are in flight. With the largest records they return about 16 MB.
const window = 64

// walk reads to the end without a consumer: it asks the leader of the bucket for the message at or behind
// each position. A consumer can only be created by the leader of the whole cluster, and if a server dies that
// led both, that election may take seconds longer.
//
// Each server, also a deposed leader, has a prefix of the bucket whose only gaps are removed messages. So
// there is no message between a position and the one that is found behind it.
func (r *reader) walk(ctx context.Context) error {
	for r.at < r.last {
		from := r.at + 1
		for i, f := range r.lookUp(ctx, from) {
			if from+uint64(i) <= r.at {
				continue // an earlier answer is behind this position
			}
			if done, err := r.step(ctx, f); done || err != nil {
				return err
			}
		}
	}
	return nil
}

// lookup is the answer to one request.
type lookup struct {
	message *jetstream.RawStreamMsg
	err     error
}

// lookUp requests the messages at or behind the next positions.
func (r *reader) lookUp(ctx context.Context, from uint64) []lookup {
	found := make([]lookup, min(window, r.last-from+1))
	var running sync.WaitGroup
	for i := range found {
		running.Go(func() { found[i].message, found[i].err = r.first(ctx, from+uint64(i), ">") })
	}
	running.Wait()
	return found
}

// step applies the record that was found. It reports whether the end is reached.
func (r *reader) step(ctx context.Context, f lookup) (done bool, err error) {
	switch {
	case ctx.Err() != nil:
		return false, fmt.Errorf("bucket %s: read up to position %d of %d: %w", r.name, r.at, r.last, ctx.Err())
	case errors.Is(f.err, jetstream.ErrMsgNotFound):
		done, err = r.ended(ctx)
		if err == nil && !done {
			err = fmt.Errorf("%w: no message behind position %d", errInterrupted, r.at)
		}
		return done, err
	case f.err != nil:
		return false, fmt.Errorf("%w: %w", errInterrupted, f.err)
	case f.message.Sequence > r.last:
		return true, nil
	}
	m := f.message
	if err := r.applyRecord(r.parse(m.Sequence, m.Subject, m.Header, m.Data)); err != nil {
		return false, err
	}
	return r.at >= r.last, nil
}
