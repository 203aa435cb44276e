package watch

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/holdfast-io/holdfast/clients/request"
	"github.com/holdfast-io/holdfast/messages"
	"github.com/holdfast-io/holdfast/messages/journal"
)

const (
	// askTimeout bounds one question to JetStream. A server that leads the stream answers in
	// milliseconds; one that no longer does stays silent.
	askTimeout = 2 * time.Second
	// shortestPause and longestPause lie between two questions; an election inside NATS takes 4 to 9 s.
	shortestPause = 5 * time.Millisecond
	longestPause  = 250 * time.Millisecond
	// staleTries, with the pauses between them, are longer than a server can believe to lead a stream
	// after it was deposed.
	staleTries = 120
)

// Source is where the journals of a deployment are read.
type Source struct {
	Conn      *nats.Conn
	JetStream jetstream.JetStream
	// Imported asks for journals that the account of the connection imports from that of the nodes, and has no
	// JetStream itself.
	Imported jetstream.JetStream
	Prefix   messages.Prefix
	// Reconnected returns a channel that is closed when the connection is there again after an interruption.
	Reconnected func() <-chan struct{}
	// Singly is set when NATS has refused a consumer to the user: records are then asked for one by one.
	Singly *atomic.Bool
}

// Reader reads the bucket of one shard, to which only the shard's owner writes.
type Reader struct {
	src    Source
	stream jetstream.Stream
	shard  uint32
	name   string // of the stream
	keys   string // what every subject begins with: $KV.HOLDFAST_3.
	// imported: the journal is in another account.
	imported bool
}

// stored is a commit where it stands.
type stored struct {
	*journal.Commit
	position uint64
}

func (s stored) at() time.Time { return time.UnixMilli(s.GetAtMs()) }

// Open returns a reader of the shard's bucket. It waits until JetStream answers or ctx ends.
func Open(ctx context.Context, src Source, shard uint32) (*Reader, error) {
	bucket := src.Prefix.Bucket(messages.Shard{Number: shard})
	r := &Reader{src: src, shard: shard, name: "KV_" + bucket, keys: "$KV." + bucket + "."}
	var err error
	r.stream, err = ask(ctx, r, func(ctx context.Context) (jetstream.Stream, error) {
		api := src.JetStream
		if r.imported {
			api = src.Imported
		}
		stream, err := api.Stream(ctx, r.name)
		if err != nil {
			// A server that starts may say so, too. Then nothing answers through an import, and this is tried again.
			r.imported = errors.Is(err, jetstream.ErrJetStreamNotEnabledForAccount)
		}
		return stream, err
	})
	return r, err
}

// first returns the oldest commit, nil if there is none.
func (r *Reader) first(ctx context.Context) (*stored, error) {
	return r.find(ctx, func(ctx context.Context) (*jetstream.RawStreamMsg, error) {
		return r.stream.GetMsg(ctx, 1, jetstream.WithGetMsgSubject(r.keys+journal.CommitKeys+">"))
	})
}

// last returns the newest commit, nil if there is none.
func (r *Reader) last(ctx context.Context) (*stored, error) { return r.newest(ctx, ">") }

// commit returns the commit of that number, nil if it is not there.
func (r *Reader) commit(ctx context.Context, number uint64) (*stored, error) {
	return r.newest(ctx, strconv.FormatUint(number, 10))
}

func (r *Reader) newest(ctx context.Context, number string) (*stored, error) {
	return r.find(ctx, func(ctx context.Context) (*jetstream.RawStreamMsg, error) {
		return r.stream.GetLastMsgForSubject(ctx, r.keys+journal.CommitKeys+number)
	})
}

// end returns the position of the last record, whatever it is.
func (r *Reader) end(ctx context.Context) (position uint64, err error) {
	m, err := ask(ctx, r, func(ctx context.Context) (*jetstream.RawStreamMsg, error) {
		return r.stream.GetLastMsgForSubject(ctx, r.keys+">")
	})
	switch {
	case errors.Is(err, jetstream.ErrMsgNotFound):
		return 0, errAgain
	case err != nil:
		return 0, err
	}
	return m.Sequence, nil
}

func (r *Reader) find(ctx context.Context, get func(context.Context) (*jetstream.RawStreamMsg, error)) (*stored,
	error) {
	m, err := ask(ctx, r, get)
	if errors.Is(err, jetstream.ErrMsgNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	record, err := r.decode(m.Subject, m.Sequence, m.Data)
	if err != nil {
		return nil, err
	}
	return &stored{record.GetCommit(), m.Sequence}, nil
}

// decode returns the record that a stored message holds.
func (r *Reader) decode(subject string, position uint64, data []byte) (*journal.Record, error) {
	record, err := journal.Decode(strings.TrimPrefix(subject, r.keys), data)
	if err != nil {
		return nil, r.corrupt(position, fmt.Errorf("%w: %w", journal.ErrCorrupt, err))
	}
	return record, nil
}

func (r *Reader) corrupt(position uint64, err error) error {
	return unavailable(fmt.Errorf("position %d of stream %s: %w", position, r.name, err))
}

// ask asks JetStream until it answers or ctx ends. That a message is not there is an answer.
func ask[A any](ctx context.Context, r *Reader, question func(context.Context) (A, error)) (answer A, err error) {
	begun := time.Now()
	for pause := shortestPause; ; pause = min(2*pause, longestPause) {
		err = request.ErrNotConnected
		if r.src.Conn.IsConnected() {
			answer, err = askOnce(ctx, question)
		}
		if err == nil || errors.Is(err, jetstream.ErrMsgNotFound) {
			return answer, err
		}
		if cause := r.permanent(err, time.Since(begun)); cause != nil {
			return answer, unavailable(cause)
		}
		if r.pause(ctx, pause) != nil {
			return answer, unavailable(fmt.Errorf("%w; last: %w", request.ContextError(ctx), err))
		}
	}
}

func askOnce[A any](ctx context.Context, question func(context.Context) (A, error)) (A, error) {
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	return question(ctx)
}

// pause waits for a while, or until the connection is there again. It returns the error of a ctx that has
// ended.
func (r *Reader) pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-r.src.Reconnected():
	case <-ctx.Done():
	}
	return ctx.Err()
}

// permanent returns why asking again is of no use, nil if it may be of use, after having asked for that long.
func (r *Reader) permanent(err error, asked time.Duration) error {
	if r.src.Conn.IsClosed() {
		return nats.ErrConnectionClosed
	}
	var refusal jetstream.JetStreamError
	if errors.As(err, &refusal) && refusal.APIError() != nil && final(refusal.APIError().Code, asked) {
		return fmt.Errorf("stream %s: %w", r.name, err)
	}
	return r.forbidden()
}

// final reports whether a refusal with this code will stay one. A cluster that has just elected a leader may
// not know of a stream that is there, and says 404.
func final(code int, asked time.Duration) bool {
	switch code {
	case http.StatusRequestTimeout, http.StatusConflict, http.StatusTooManyRequests:
		return false
	case http.StatusNotFound:
		return asked >= staleTries*longestPause
	}
	return code/100 == 4
}

// forbidden returns what NATS said in place of an answer, if this user may not read the journal. That a
// consumer may not be removed does no harm, and without one the journal is read singly.
func (r *Reader) forbidden() error {
	note := r.refused(".")
	if note == nil || r.refused(".CONSUMER.DELETE.") != nil || r.refusedConsumer() {
		return nil
	}
	return fmt.Errorf("the NATS user may not read the journal: %w", note)
}

// refused returns the latest report of NATS if it is that this user may not send this request about the stream.
func (r *Reader) refused(request string) error {
	note := r.src.Conn.LastError()
	if errors.Is(note, nats.ErrPermissionViolation) && strings.Contains(note.Error(), request+r.name) {
		return note
	}
	return nil
}
