package holdfast

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
	// consumerLife is how long JetStream keeps a consumer that was not taken leave of.
	consumerLife = 30 * time.Second
)

// feed is a consumer of a journal. It lives in the memory of any one server, and is replaced when it
// does not bring what it should: whether it does, the numbers of the commits tell, not the consumer.
type feed struct {
	*journalReader
	consumer jetstream.Consumer
	take     func(position uint64, r *journal.Record) error
	count    uint64
}

// feed hands over what stands in the bucket from a position on, and what comes, to take. It returns what
// take returned, [errAgain] when the consumer is of no more use, or the end of ctx. Nothing is pulled
// while take runs.
func (j *journalReader) feed(ctx context.Context, from uint64, keys string, take func(uint64, *journal.Record) error) error {
	f := &feed{journalReader: j, take: take}
	err := j.ask(ctx, func(ctx context.Context) (err error) {
		f.consumer, err = j.js.CreateConsumer(ctx, j.name, jetstream.ConsumerConfig{
			FilterSubject:     j.keys + keys,
			DeliverPolicy:     jetstream.DeliverByStartSequencePolicy,
			OptStartSeq:       from,
			AckPolicy:         jetstream.AckNonePolicy,
			InactiveThreshold: consumerLife,
			MemoryStorage:     true,
			Replicas:          1,
		})
		return err
	})
	if err != nil {
		return err
	}
	defer f.leave(ctx)
	for {
		err := f.pull(ctx)
		if cause := f.forbidden(); errors.Is(err, errAgain) && cause != nil {
			err = f.wrong(ErrUnavailable, cause)
		}
		if err != nil {
			return err
		}
	}
}

// leave removes the consumer. If that fails, JetStream does it after a while.
func (f *feed) leave(ctx context.Context) {
	if !f.c.nc.IsConnected() {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), askTimeout)
	defer cancel()
	_ = f.js.DeleteConsumer(ctx, f.name, f.consumer.CachedInfo().Name)
}

// pull takes one batch in.
func (f *feed) pull(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, pullTime)
	reconnected := f.c.sender.Reconnected()
	batch, err := f.consumer.Fetch(batchCommits, jetstream.FetchMaxBytes(batchBytes),
		jetstream.FetchHeartbeat(pullHeartbeat), jetstream.FetchContext(ctx))
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
				return f.over(batch.Error())
			}
			if err := f.took(m); err != nil {
				return err
			}
		case <-reconnected: // the request went down with the connection
			return errAgain
		}
	}
}

// over returns nil if the batch has ended in good order.
func (f *feed) over(err error) error {
	if err == nil || errors.Is(err, context.DeadlineExceeded) {
		return nil
	}
	return fmt.Errorf("%w: %w", errAgain, err)
}

func (f *feed) took(m jetstream.Msg) error {
	at, err := m.Metadata()
	if err != nil {
		return fmt.Errorf("%w: %w", errAgain, err)
	}
	f.count++
	if at.Sequence.Consumer != f.count {
		return fmt.Errorf("%w: a message is missing", errAgain)
	}
	r, err := f.decode(m.Subject(), at.Sequence.Stream, m.Data())
	if err != nil {
		return err
	}
	return f.take(at.Sequence.Stream, r)
}
