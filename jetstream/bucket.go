package jetstream

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// askTimeout bounds one question to JetStream. A server that leads the stream answers in
// milliseconds; one that no longer does stays silent.
const askTimeout = 500 * time.Millisecond

// Between two tries of the same thing. The first is as long as a leader needs to finish the step that
// it was in, the longest short against the 4 to 9 seconds of an election.
const (
	shortestPause = time.Millisecond
	longestPause  = 250 * time.Millisecond
)

// Bucket is one shard's log, with one writer at a time. Get one from [Deployment.Bucket] for each
// ownership of the shard: it remembers how far its owner has written, and purges no further.
type Bucket struct {
	nc      *nats.Conn
	js      jetstream.JetStream
	stream  jetstream.Stream
	name    string // HOLDFAST_3
	subject string // what every subject begins with: $KV.HOLDFAST_3.
	ack     []byte // what every acknowledgement begins with
	turn    turn

	written atomic.Uint64 // position of the newest record that this Bucket has stored
	commit  atomic.Uint64 // of the newest commit among them
}

func newBucket(nc *nats.Conn, js jetstream.JetStream, stream jetstream.Stream, name string, turn turn) *Bucket {
	return &Bucket{
		nc:      nc,
		js:      js,
		stream:  stream,
		name:    name,
		subject: subjectPrefix(name),
		ack:     []byte(`{"stream":"` + streamName(name) + `","seq":`),
		turn:    turn,
	}
}

// Name returns the name of the KV bucket, for people and their tools: HOLDFAST_3.
func (b *Bucket) Name() string {
	return b.name
}

func (b *Bucket) wrong(position uint64, key string, err error) error {
	return &PlaceError{Bucket: b.name, Position: position, Key: key, Err: err}
}

// first returns the first message at or behind the position, as the leader of the stream has it.
func (b *Bucket) first(ctx context.Context, position uint64, filter string) (*jetstream.RawStreamMsg, error) {
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	before := b.nc.LastError()
	m, err := b.stream.GetMsg(ctx, position, jetstream.WithGetMsgSubject(filter))
	return m, explain(b.nc, before, err, jetstream.DefaultAPIPrefix+"STREAM.MSG.GET."+streamName(b.name))
}

// state returns what the leader of the stream says of it.
func (b *Bucket) state(ctx context.Context, opts ...jetstream.StreamInfoOpt) (jetstream.StreamState, error) {
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	before := b.nc.LastError()
	info, err := b.stream.Info(ctx, opts...)
	if err != nil {
		return jetstream.StreamState{}, explain(b.nc, before, err, jetstream.DefaultAPIPrefix+"STREAM.INFO."+streamName(b.name))
	}
	return info.State, nil
}

// raise lifts a mark to the value, never lowers it.
func raise(mark *atomic.Uint64, value uint64) {
	for {
		old := mark.Load()
		if old >= value || mark.CompareAndSwap(old, value) {
			return
		}
	}
}

// pause waits, or returns early with the reason why ctx has ended.
func pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}
