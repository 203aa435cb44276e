package watch_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/holdfast-io/holdfast/integration/linear"
	"github.com/holdfast-io/holdfast/integration/stand"
	"github.com/holdfast-io/holdfast/messages"
)

// consumer is a durable consumer of the stream of events, as a service in any language has one. After a
// crash messages come again, and others before them: by their sequence it takes each once and in order.
type consumer struct {
	*linear.Events
	last uint64
}

// consume takes messages until ctx ends, through whatever happens to the server.
func (c *consumer) consume(ctx context.Context, t *testing.T, js jetstream.JetStream) {
	t.Helper()
	for ctx.Err() == nil {
		durable, err := js.CreateOrUpdateConsumer(ctx, "HOLDFAST_EVENTS", jetstream.ConsumerConfig{
			Durable: "audit", AckPolicy: jetstream.AckExplicitPolicy, AckWait: time.Second,
		})
		for err == nil && ctx.Err() == nil {
			var batch jetstream.MessageBatch
			if batch, err = durable.Fetch(100, jetstream.FetchMaxWait(time.Second)); err == nil {
				err = c.take(batch)
			}
		}
		if errors.Is(err, messages.ErrInvalid) {
			t.Error(err)
			return
		}
	}
}

// take takes what comes next. An error that is not ErrInvalid says that the server may be away.
func (c *consumer) take(batch jetstream.MessageBatch) error {
	for m := range batch.Messages() {
		about, err := m.Metadata()
		if err != nil {
			return err
		}
		if about.Sequence.Stream > c.last+1 {
			continue // those between come again, and then this one
		}
		if about.Sequence.Stream == c.last+1 {
			var e messages.Event
			if err := messages.DecodeReply(messages.JSON, m.Data(), &e); err != nil {
				return err
			}
			c.last++
			c.AddPublished(&e)
		}
		if err := m.Ack(); err != nil {
			return err
		}
	}
	return batch.Error()
}

// However often the server is killed, the stream has each change exactly once, and in the order of its
// shard; so does what a durable consumer takes from it.
func TestServerKilledUnderRetention(t *testing.T) {
	t.Parallel()
	s := startServer(t, "--events-retention", "1h")
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	js := stand.Value(jetstream.New(stand.Dial(t, s.URL)))(t)
	c := consumer{Events: record(t, "consumer", ">")}
	crowd := &crowd{ctx: ctx, t: t, url: s.URL}
	defer crowd.work.Wait()
	defer cancel()
	crowd.work.Go(func() { c.consume(ctx, t, js) })

	load := startLoad(t, s.URL, 4)
	for range *kills {
		moreEvents(t, c.Events, 50)
		s.Kill()
		s.Restart()
	}
	load.Stop()
	journals := finished(t, s.URL)
	await(t, journals, c.Events)
	cancel()
	crowd.work.Wait()
	wantSame(t, journals, c.Events)
	t.Logf("%d events through %d kills", c.Count(), *kills)
}
