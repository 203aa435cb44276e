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
	// readAhead bounds what is under way or waits in memory: some thirty pages, or many thousand small
	// commits. More reads no faster.
	readAhead = 8 << 20
	// readerLife is how long JetStream keeps a reader that died without taking leave.
	readerLife = 30 * time.Second
)

// feed is a consumer and what it brings. The consumer lives in memory, on any one of the replicas.
type feed struct {
	bucket   *Bucket
	consumer jetstream.Consumer
	consume  jetstream.ConsumeContext
	arrivals chan *arrival
	trouble  chan error
	done     chan struct{}
}

// arrival is a stored message, taken apart.
type arrival struct {
	position uint64
	key      string
	record   *journal.Record
	err      error // why there is no record

	// number counts the consumer's messages, pending is how many it knows to come; 0 without a consumer.
	number, pending uint64
}

// arrived takes a message apart.
func (b *Bucket) arrived(position uint64, subject string, header nats.Header, data []byte) *arrival {
	a := &arrival{position: position, key: strings.TrimPrefix(subject, b.subject)}
	a.record, a.err = decode(a.key, header, data)
	return a
}

// feed makes a consumer for what has not been read, and starts it.
func (r *reader) feed(ctx context.Context) (*feed, error) {
	consumer, err := r.makeConsumer(ctx, r.at+1)
	if err != nil {
		return nil, err
	}
	f := &feed{
		bucket:   r.Bucket,
		consumer: consumer,
		arrivals: make(chan *arrival),
		trouble:  make(chan error, 1),
		done:     make(chan struct{}),
	}
	f.consume, err = consumer.Consume(f.deliver, jetstream.PullMaxBytes(readAhead), jetstream.ConsumeErrHandler(f.report))
	if err != nil {
		return nil, err
	}
	return f, nil
}

// deliver runs on the consumer's goroutine. It takes the message apart while the one before is being
// applied, and holds the consumer up until it is wanted.
func (f *feed) deliver(m jetstream.Msg) {
	at, err := m.Metadata()
	if err != nil {
		f.report(nil, err)
		return
	}
	a := f.bucket.arrived(at.Sequence.Stream, m.Subject(), m.Headers(), m.Data())
	a.number, a.pending = at.Sequence.Consumer, at.NumPending
	select {
	case f.arrivals <- a:
	case <-f.done:
	}
}

// report runs on the consumer's goroutines. One report is enough to give the consumer up.
func (f *feed) report(_ jetstream.ConsumeContext, err error) {
	select {
	case f.trouble <- err:
	default:
	}
}

// leave stops the consumer and lets JetStream remove it, without waiting for that: a cluster decides it as
// it decides an append, and whoever reads a bucket is about to serve its shard. If it is lost, JetStream does
// it after a while.
func (f *feed) leave() {
	close(f.done)
	f.consume.Stop()
	<-f.consume.Closed()
	subject := jetstream.DefaultAPIPrefix + "CONSUMER.DELETE." + streamName(f.bucket.name) + "." + f.consumer.CachedInfo().Name
	_ = f.bucket.nc.PublishRequest(subject, f.bucket.nc.NewInbox(), nil) // nobody listens for the answer
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
