package jetstream

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/nats-io/nats.go/jetstream"
)

// stride is how many questions of a walk are under way at a time. Of the largest records they bring some
// sixteen megabytes.
const stride = 64

// walk reads to the end without a consumer, by asking the leader of the bucket for what stands at or behind
// each position. To make a consumer takes the leader of all JetStream, and where a server dies that led
// both, that one may be missed for seconds longer.
//
// Whoever answers, a deposed leader included, has a beginning of the bucket without holes but for what was
// removed. So nothing stands between a position and what is found behind it.
func (r *reader) walk(ctx context.Context) error {
	for r.at < r.last {
		from := r.at + 1
		for i, f := range r.ask(ctx, from) {
			if from+uint64(i) <= r.at {
				continue // an earlier answer has led past it
			}
			if done, err := r.step(ctx, f); done || err != nil {
				return err
			}
		}
	}
	return nil
}

// finding is what one question has brought.
type finding struct {
	message *jetstream.RawStreamMsg
	err     error
}

// ask asks what stands at or behind each of some positions.
func (r *reader) ask(ctx context.Context, from uint64) []finding {
	found := make([]finding, min(stride, r.last-from+1))
	var asking sync.WaitGroup
	for i := range found {
		asking.Go(func() { found[i].message, found[i].err = r.first(ctx, from+uint64(i), ">") })
	}
	asking.Wait()
	return found
}

// step goes to where the next record stands. Done: that is behind the end, or nowhere.
func (r *reader) step(ctx context.Context, f finding) (done bool, err error) {
	switch {
	case ctx.Err() != nil:
		return false, fmt.Errorf("bucket %s: read up to position %d of %d: %w", r.name, r.at, r.last, ctx.Err())
	case errors.Is(f.err, jetstream.ErrMsgNotFound):
		done, err = r.ended(ctx)
		if err == nil && !done {
			err = fmt.Errorf("%w: nothing is there behind position %d", errReread, r.at)
		}
		return done, err
	case f.err != nil:
		return false, fmt.Errorf("%w: %w", errReread, f.err)
	case f.message.Sequence > r.last:
		return true, nil
	}
	m := f.message
	if err := r.take(r.arrived(m.Sequence, m.Subject, m.Header, m.Data)); err != nil {
		return false, err
	}
	return r.at >= r.last, nil
}
