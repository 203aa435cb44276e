package watch

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/holdfast-io/holdfast/messages/journal"
)

// noticePoll is the interval between two looks at what NATS has reported. A refused publish has no answer.
const noticePoll = 10 * time.Millisecond

// errNoConsumer says that the NATS user may not create consumers. The journal can be read without one.
var errNoConsumer = errors.New("the NATS user may not create consumers")

// singly hands the records from a position on, and those that follow, to take, as consume does. It asks for each
// record by itself, which needs no consumer: a user who may create one can let it deliver to any subject.
func (r *Reader) singly(ctx context.Context, from uint64, keys string, take func(uint64, *journal.Record) error) error {
	for pause := shortestPause; ; pause = min(2*pause, longestPause) {
		m, err := ask(ctx, r, func(ctx context.Context) (*jetstream.RawStreamMsg, error) {
			return r.stream.GetMsg(ctx, from, jetstream.WithGetMsgSubject(r.keys+keys))
		})
		if errors.Is(err, jetstream.ErrMsgNotFound) {
			if err := r.pause(ctx, pause); err != nil {
				return err
			}
			continue
		}
		if err != nil {
			return err
		}
		record, err := r.decode(m.Subject, m.Sequence, m.Data)
		if err == nil {
			err = take(m.Sequence, record)
		}
		if err != nil {
			return err
		}
		from, pause = m.Sequence+1, shortestPause
	}
}

// untilRefused returns a context that ends with errNoConsumer when NATS reports that this user may not create a
// consumer.
func (r *Reader) untilRefused(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(ctx)
	go func() {
		tick := time.NewTicker(noticePoll)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				if r.refusedConsumer() {
					cancel(errNoConsumer)
					return
				}
			case <-ctx.Done():
				return
			}
		}
	}()
	return ctx, func() { cancel(nil) }
}

// refusedConsumer reports whether the latest report of NATS is that this user may not create a consumer of a journal.
// That of another shard counts as well: the reports of shards that are read at the same time replace one another.
func (r *Reader) refusedConsumer() bool {
	note := r.src.Conn.LastError()
	return errors.Is(note, nats.ErrPermissionViolation) &&
		strings.Contains(note.Error(), ".CONSUMER.CREATE."+strings.TrimRight(r.name, "0123456789"))
}
