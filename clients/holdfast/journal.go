package holdfast

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/holdfast-io/holdfast/clients/request"
	"github.com/holdfast-io/holdfast/messages/journal"
)

const (
	// askTimeout bounds one question to JetStream. A server that leads the stream answers in
	// milliseconds; one that no longer does stays silent.
	askTimeout = 2 * time.Second
	// shortestPause and longestPause lie between two tries; an election inside NATS takes 4 to 9 s.
	shortestPause = 5 * time.Millisecond
	longestPause  = 250 * time.Millisecond
	// staleTries, with the pauses between them, are longer than a server can believe to lead a stream
	// after it was deposed.
	staleTries = 120
)

// journalReader reads one shard's bucket, as those read it who do not write.
type journalReader struct {
	c      *Client
	js     jetstream.JetStream
	stream jetstream.Stream
	shard  uint32
	name   string // of the stream
	keys   string // what every subject begins with: $KV.HOLDFAST_3.
}

// stored is a commit where it stands.
type stored struct {
	*journal.Commit
	position uint64
}

func (s stored) at() time.Time { return time.UnixMilli(s.GetAtMs()) }

// errAgain says that to ask once more may give an answer.
var errAgain = errors.New("journal interrupted")

// openJournal finds the shard's bucket.
func (c *Client) openJournal(ctx context.Context, js jetstream.JetStream, shard uint32) (*journalReader, error) {
	bucket := c.cfg.prefix.Bucket(shard)
	j := &journalReader{c: c, js: js, shard: shard, name: "KV_" + bucket, keys: "$KV." + bucket + "."}
	err := j.ask(ctx, func(ctx context.Context) (err error) {
		j.stream, err = js.Stream(ctx, j.name)
		return err
	})
	return j, err
}

// first returns the oldest commit, nil if there is none.
func (j *journalReader) first(ctx context.Context) (*stored, error) {
	return j.find(ctx, func(ctx context.Context) (*jetstream.RawStreamMsg, error) {
		return j.stream.GetMsg(ctx, 1, jetstream.WithGetMsgSubject(j.keys+journal.CommitKeys+">"))
	})
}

// last returns the newest commit, nil if there is none.
func (j *journalReader) last(ctx context.Context) (*stored, error) { return j.newest(ctx, ">") }

// commit returns the commit of that number, nil if it is not there.
func (j *journalReader) commit(ctx context.Context, number uint64) (*stored, error) {
	return j.newest(ctx, strconv.FormatUint(number, 10))
}

func (j *journalReader) newest(ctx context.Context, number string) (*stored, error) {
	return j.find(ctx, func(ctx context.Context) (*jetstream.RawStreamMsg, error) {
		return j.stream.GetLastMsgForSubject(ctx, j.keys+journal.CommitKeys+number)
	})
}

// end returns the position of the last record, whatever it is.
func (j *journalReader) end(ctx context.Context) (position uint64, err error) {
	err = j.ask(ctx, func(ctx context.Context) error {
		m, err := j.stream.GetLastMsgForSubject(ctx, j.keys+">")
		if err == nil {
			position = m.Sequence
		}
		return err
	})
	if errors.Is(err, jetstream.ErrMsgNotFound) {
		err = errAgain
	}
	return position, err
}

func (j *journalReader) find(ctx context.Context, get func(context.Context) (*jetstream.RawStreamMsg, error)) (*stored, error) {
	var m *jetstream.RawStreamMsg
	err := j.ask(ctx, func(ctx context.Context) (err error) {
		m, err = get(ctx)
		return err
	})
	if errors.Is(err, jetstream.ErrMsgNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	r, err := j.decode(m.Subject, m.Sequence, m.Data)
	if err != nil {
		return nil, err
	}
	return &stored{r.GetCommit(), m.Sequence}, nil
}

// decode returns the record that a stored message holds.
func (j *journalReader) decode(subject string, position uint64, data []byte) (*journal.Record, error) {
	r, err := journal.Decode(strings.TrimPrefix(subject, j.keys), data)
	if err != nil {
		return nil, j.corrupt(position, err)
	}
	return r, nil
}

func (j *journalReader) corrupt(position uint64, err error) error {
	return j.wrong(ErrUnavailable, fmt.Errorf("position %d of stream %s: %w: %w", position, j.name, journal.ErrCorrupt, err))
}

// ask puts a question to JetStream until it is answered or ctx ends. That a message is not there is an
// answer.
func (j *journalReader) ask(ctx context.Context, question func(context.Context) error) error {
	begun := time.Now()
	for pause := shortestPause; ; pause = min(2*pause, longestPause) {
		err := request.ErrNotConnected
		if j.c.nc.IsConnected() {
			err = j.askOnce(ctx, question)
		}
		if err == nil || errors.Is(err, jetstream.ErrMsgNotFound) {
			return err
		}
		if cause := j.lasting(err, time.Since(begun)); cause != nil {
			return j.wrong(ErrUnavailable, cause)
		}
		if j.rest(ctx, pause) != nil {
			return j.wrong(ErrUnavailable, fmt.Errorf("%w; last: %w", request.ContextError(ctx), err))
		}
	}
}

func (j *journalReader) askOnce(ctx context.Context, question func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	return question(ctx)
}

// rest waits for a while, or until the connection is there again. It returns the error of a ctx that has
// ended.
func (j *journalReader) rest(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-j.c.sender.Reconnected():
	case <-ctx.Done():
	}
	return ctx.Err()
}

// lasting returns what is wrong if to ask again is of no use, after having asked for that long.
func (j *journalReader) lasting(err error, asked time.Duration) error {
	if j.c.nc.IsClosed() {
		return nats.ErrConnectionClosed
	}
	var refusal jetstream.JetStreamError
	if errors.As(err, &refusal) && refusal.APIError() != nil && final(refusal.APIError().Code, asked) {
		return fmt.Errorf("stream %s: %w", j.name, err)
	}
	return j.forbidden()
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
// consumer may not be removed does no harm.
func (j *journalReader) forbidden() error {
	note := j.c.nc.LastError()
	if !errors.Is(note, nats.ErrPermissionViolation) || !strings.Contains(note.Error(), "."+j.name) ||
		strings.Contains(note.Error(), ".CONSUMER.DELETE.") {
		return nil
	}
	return fmt.Errorf("the NATS user may not read the journal: %w", note)
}

func (j *journalReader) wrong(sentinel, cause error) error {
	return &Error{Op: opWatch, Err: sentinel, Cause: cause}
}
