package jetstream

import (
	"context"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/holdfast-io/holdfast/jetstream/internal/jsapi"
	"github.com/holdfast-io/holdfast/messages/journal"
)

const (
	// readAhead bounds the messages in flight and in memory: about thirty pages, or many thousand small
	// commits. More is not faster.
	readAhead = 8 << 20
	// readerLife is how long JetStream keeps a consumer whose reader is gone.
	readerLife = 30 * time.Second
)

// feed is a consumer and its messages. The consumer is in memory, on any one of the replicas.
type feed struct {
	bucket     *Bucket
	consumer   jetstream.Consumer
	consume    jetstream.ConsumeContext
	deliveries chan *delivery
	failures   chan error
	done       chan struct{}
}

// delivery is a decoded message.
type delivery struct {
	position uint64
	key      string
	record   *journal.Record
	err      error // why there is no record

	// number counts the consumer's messages, pending is how many it knows to come; 0 without a consumer.
	number, pending uint64
}

// parse decodes a message.
func (b *Bucket) parse(position uint64, subject string, header nats.Header, data []byte) *delivery {
	a := &delivery{position: position, key: strings.TrimPrefix(subject, b.subject)}
	a.record, a.err = decode(a.key, header, data)
	return a
}

// feed creates and starts a consumer for the messages that have not been read.
func (r *reader) feed(ctx context.Context) (*feed, error) {
	consumer, err := r.makeConsumer(ctx, r.at+1)
	if err != nil {
		return nil, err
	}
	f := &feed{
		bucket:     r.Bucket,
		consumer:   consumer,
		deliveries: make(chan *delivery),
		failures:   make(chan error, 1),
		done:       make(chan struct{}),
	}
	f.consume, err = consumer.Consume(f.deliver, jetstream.PullMaxBytes(readAhead),
		jetstream.ConsumeErrHandler(f.report))
	if err != nil {
		return nil, err
	}
	return f, nil
}

// deliver runs on the consumer's goroutine. It decodes a message while the previous one is applied, and blocks
// the consumer until the message is taken.
func (f *feed) deliver(m jetstream.Msg) {
	at, err := m.Metadata()
	if err != nil {
		f.report(nil, err)
		return
	}
	a := f.bucket.parse(at.Sequence.Stream, m.Subject(), m.Headers(), m.Data())
	a.number, a.pending = at.Sequence.Consumer, at.NumPending
	select {
	case f.deliveries <- a:
	case <-f.done:
	}
}

// report runs on the consumer's goroutines. The first error replaces the consumer.
func (f *feed) report(_ jetstream.ConsumeContext, err error) {
	select {
	case f.failures <- err:
	default:
	}
}

// close stops the consumer and asks JetStream to remove it. It does not wait for that, because a cluster takes
// a Raft round for it and the opening of the shard would wait too. If the request is lost, JetStream removes
// the consumer after readerLife.
func (f *feed) close() {
	close(f.done)
	f.consume.Stop()
	<-f.consume.Closed()
	subject := jetstream.DefaultAPIPrefix + "CONSUMER.DELETE." + streamName(f.bucket.name) + "." +
		f.consumer.CachedInfo().Name
	_ = f.bucket.nc.PublishRequest(subject, f.bucket.nc.NewInbox(), nil) // the answer is not awaited
}

func (b *Bucket) makeConsumer(ctx context.Context, start uint64) (consumer jetstream.Consumer, err error) {
	ctx, cancel := context.WithTimeout(ctx, readIdle)
	defer cancel()
	err = jsapi.Request(b.nc, "CONSUMER.CREATE."+streamName(b.name), func() (err error) {
		consumer, err = b.stream.CreateConsumer(ctx, jetstream.ConsumerConfig{
			DeliverPolicy:     jetstream.DeliverByStartSequencePolicy,
			OptStartSeq:       start,
			AckPolicy:         jetstream.AckNonePolicy,
			InactiveThreshold: readerLife,
			MemoryStorage:     true,
			Replicas:          1,
		})
		return err
	})
	return consumer, err
}
