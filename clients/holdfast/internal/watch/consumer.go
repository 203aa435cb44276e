package watch

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/holdfast-io/holdfast/messages/journal"
)

const (
	// batchCommits and batchBytes bound what is read ahead of a shard. A commit is never larger than
	// half a megabyte, which leaves room for a page too.
	batchCommits = 256
	batchBytes   = 2 << 20
	// pullTime is how long one request for more stays open, pullHeartbeat how often the server says that
	// it does: two that fail to come are the end of it.
	pullTime      = 30 * time.Second
	pullHeartbeat = 2 * time.Second
	// consumerLife is how long JetStream keeps a consumer that was not removed.
	consumerLife = 30 * time.Second
)

// consumer brings the records of a journal. It lives in the memory of one server, and is replaced when it
// does not bring the next record.
type consumer struct {
	*Reader
	jetstream jetstream.Consumer
	take      func(position uint64, r *journal.Record) error
	count     uint64
}

// read hands the records from a position on, and those that follow, to take: through a consumer, or one by one for a
// user who may not create one, or in another account. It returns what take returned, [errAgain] when the consumer is of
// no more use, or the end of ctx. Nothing is asked for while take runs.
func (r *Reader) read(ctx context.Context, from uint64, keys string, take func(uint64, *journal.Record) error) error {
	err := errNoConsumer
	if !r.imported && !r.src.Singly.Load() {
		err = r.consume(ctx, from, keys, take)
	}
	if !errors.Is(err, errNoConsumer) {
		return err
	}
	if !r.imported {
		r.src.Singly.Store(true)
	}
	return r.singly(ctx, from, keys, take)
}

// consume reads through a consumer. It returns [errNoConsumer] if this user may not create one.
func (r *Reader) consume(ctx context.Context, from uint64, keys string,
	take func(uint64, *journal.Record) error) error {
	c := &consumer{Reader: r, take: take}
	creating, stop := r.untilRefused(ctx)
	defer stop()
	var err error
	c.jetstream, err = ask(creating, r, func(ctx context.Context) (jetstream.Consumer, error) {
		return r.src.JetStream.CreateConsumer(ctx, r.name, jetstream.ConsumerConfig{
			FilterSubject:     r.keys + keys,
			DeliverPolicy:     jetstream.DeliverByStartSequencePolicy,
			OptStartSeq:       from,
			AckPolicy:         jetstream.AckNonePolicy,
			InactiveThreshold: consumerLife,
			MemoryStorage:     true,
			Replicas:          1,
		})
	})
	if err != nil {
		if refused := context.Cause(creating); errors.Is(refused, errNoConsumer) {
			return refused
		}
		return err
	}
	stop()
	defer c.remove(ctx)
	for {
		err := c.pull(ctx)
		if cause := c.forbidden(); errors.Is(err, errAgain) && cause != nil {
			err = unavailable(cause)
		}
		if err != nil {
			return err
		}
	}
}

// remove removes the consumer. If that fails, JetStream does it after a while.
func (c *consumer) remove(ctx context.Context) {
	if !c.src.Conn.IsConnected() {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), askTimeout)
	defer cancel()
	_ = c.src.JetStream.DeleteConsumer(ctx, c.name, c.jetstream.CachedInfo().Name)
}

// pull takes one batch in.
func (c *consumer) pull(ctx context.Context) error {
	// a deadline must leave time for two heartbeats
	pulling, cancel := context.WithTimeout(context.WithoutCancel(ctx), pullTime)
	stop := context.AfterFunc(ctx, cancel)
	defer stop()
	reconnected := c.src.Reconnected()
	batch, err := c.jetstream.Fetch(batchCommits, jetstream.FetchMaxBytes(batchBytes),
		jetstream.FetchHeartbeat(pullHeartbeat), jetstream.FetchContext(pulling))
	if err != nil {
		cancel()
		return fmt.Errorf("%w: %w", errAgain, err)
	}
	defer func() {
		cancel()
		for range batch.Messages() { // is closed by the goroutine that fills it
		}
	}()
	for {
		select {
		case m, more := <-batch.Messages():
			if !more {
				if err := batch.Error(); err != nil && !errors.Is(err, context.DeadlineExceeded) {
					return fmt.Errorf("%w: %w", errAgain, err)
				}
				return nil
			}
			if err := c.took(m); err != nil {
				return err
			}
		case <-reconnected: // the request went down with the connection
			return errAgain
		}
	}
}

func (c *consumer) took(m jetstream.Msg) error {
	at, err := m.Metadata()
	if err != nil {
		return fmt.Errorf("%w: %w", errAgain, err)
	}
	c.count++
	if at.Sequence.Consumer != c.count {
		return fmt.Errorf("%w: a message is missing", errAgain)
	}
	r, err := c.decode(m.Subject(), at.Sequence.Stream, m.Data())
	if err != nil {
		return err
	}
	return c.take(at.Sequence.Stream, r)
}
