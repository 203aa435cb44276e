package jetstream

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/holdfast-io/holdfast/jetstream/internal/jsapi"
)

// askTimeout bounds one request to JetStream. The leader of the stream answers in milliseconds; a deposed one
// does not answer.
const askTimeout = 500 * time.Millisecond

// Bucket is one shard's log, with one writer at a time. Get one from [Deployment.Bucket] for each
// ownership of the shard: it remembers how far its owner has written, and purges no further.
type Bucket struct {
	nc         *nats.Conn
	stream     jetstream.Stream
	name       string // HOLDFAST_3
	subject    string // prefix of all subjects: $KV.HOLDFAST_3.
	ack        []byte // start of every acknowledgement
	appendLock appendLock

	written atomic.Uint64 // position of the newest record that this Bucket has stored
	commit  atomic.Uint64 // of the newest commit among them
}

func newBucket(nc *nats.Conn, stream jetstream.Stream, name string, lock appendLock) *Bucket {
	return &Bucket{
		nc:         nc,
		stream:     stream,
		name:       name,
		subject:    subjectPrefix(name),
		ack:        []byte(`{"stream":"` + streamName(name) + `","seq":`),
		appendLock: lock,
	}
}

// Name returns the name of the KV bucket, as NATS tools show it: HOLDFAST_3.
func (b *Bucket) Name() string {
	return b.name
}

// Stream returns the name of the stream that keeps the bucket: KV_HOLDFAST_3.
func (b *Bucket) Stream() string { return streamName(b.name) }

func (b *Bucket) errorAt(position uint64, key string, err error) error {
	return &PlaceError{Bucket: b.name, Position: position, Key: key, Err: err}
}

// first returns the first message at or behind the position, as the leader of the stream has it.
func (b *Bucket) first(ctx context.Context, position uint64, filter string) (m *jetstream.RawStreamMsg, err error) {
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	err = jsapi.Request(b.nc, "STREAM.MSG.GET."+streamName(b.name), func() (err error) {
		m, err = b.stream.GetMsg(ctx, position, jetstream.WithGetMsgSubject(filter))
		return err
	})
	return m, err
}

// info returns what the leader of the stream says of it.
func (b *Bucket) info(ctx context.Context, opts ...jetstream.StreamInfoOpt) (info *jetstream.StreamInfo, err error) {
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	err = jsapi.Request(b.nc, "STREAM.INFO."+streamName(b.name), func() (err error) {
		info, err = b.stream.Info(ctx, opts...)
		return err
	})
	return info, err
}
