package jetstream

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/holdfast-io/holdfast/jetstream/internal/jsapi"
	"github.com/holdfast-io/holdfast/jetstream/internal/retry"
	"github.com/holdfast-io/holdfast/messages/journal"
)

// Bounds of the timeout for one copy of a record and for one probe; it doubles with each attempt. A leader
// that steps down drops requests without an answer, so the first timeout is the cost of a planned change of
// leader. A timeout that is too short costs a probe and a copy that is refused.
const (
	minTimeout = 200 * time.Millisecond
	maxTimeout = 500 * time.Millisecond
)

// Append stores the record at the position behind after and nowhere else. It returns nil once JetStream has
// confirmed it, on disk and on a majority of the replicas. Only one Append at a time may be in flight for one
// owner.
//
// [journal.ErrConflict] is definite: the position holds another writer's record. [journal.ErrNotStored] is
// definite too: the record was not sent, or JetStream refuses such a record. [journal.ErrUnknown] leaves the
// outcome open: ctx has ended, the connection was closed, or the position was filled and purged in the
// meantime. Append sends the record again until one of them is definite; at most one copy can be stored.
func (b *Bucket) Append(ctx context.Context, after uint64, r *journal.Record) error {
	a := pendingAppend{Bucket: b, position: after + 1}
	key, data, err := journal.Encode(r)
	if err == nil {
		err = ctx.Err()
	}
	if err == nil {
		err = b.appendLock.lock(ctx)
	}
	if err != nil {
		return b.errorAt(a.position, key, fmt.Errorf("%w: %w", journal.ErrNotStored, err))
	}
	defer b.appendLock.unlock()
	a.msg = nats.Msg{
		Subject: b.subject + key,
		Header:  nats.Header{jetstream.ExpectedLastSeqHeader: {strconv.FormatUint(after, 10)}},
		Data:    data,
	}
	if err := a.store(ctx); err != nil {
		return b.errorAt(a.position, key, err)
	}
	b.written.Store(a.position)
	if r.GetCommit() != nil {
		b.commit.Store(a.position)
	}
	return nil
}

// pendingAppend is a record that is being stored at its position.
type pendingAppend struct {
	*Bucket
	position    uint64
	msg         nats.Msg
	mayBeStored bool // a copy was sent and may be stored at any time
}

func (a *pendingAppend) store(ctx context.Context) error {
	timeout := minTimeout
	var backoff retry.Backoff
	for {
		reason := a.send(ctx, timeout)
		if reason == nil {
			return nil
		}
		if resolved, err := a.resolve(ctx, timeout, reason); resolved {
			return err
		}
		timeout = min(2*timeout, maxTimeout)
		if err := backoff.Wait(ctx); err != nil {
			return a.giveUp(fmt.Errorf("%w; last: %w", err, reason))
		}
	}
}

// send sends one copy and returns nil if JetStream has confirmed it in time.
func (a *pendingAppend) send(ctx context.Context, timeout time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	var answer *nats.Msg
	err := jsapi.Publish(a.nc, a.msg.Subject, func() (err error) {
		answer, err = a.nc.RequestMsgWithContext(ctx, &a.msg)
		return err
	})
	if err == nil {
		err = a.checkAck(answer.Data, a.position)
	}
	if err != nil && !isNotSent(err) && !isAlwaysRefused(err) {
		a.mayBeStored = true
	}
	return err
}

// checkAck returns nil if the answer is JetStream's acknowledgement for the position. The usual one is known
// in advance, byte for byte, and need not be decoded.
func (b *Bucket) checkAck(answer []byte, position uint64) error {
	usual := make([]byte, len(b.ack), len(b.ack)+21)
	copy(usual, b.ack)
	usual = append(strconv.AppendUint(usual, position, 10), '}')
	if bytes.Equal(answer, usual) {
		return nil
	}
	var parsed struct {
		Error *jetstream.APIError `json:"error"`
		jetstream.PubAck
	}
	if err := json.Unmarshal(answer, &parsed); err != nil {
		return fmt.Errorf("%w: %w", jsapi.ErrUnexpectedAnswer, err)
	}
	switch {
	case parsed.Error != nil:
		return parsed.Error
	case parsed.Stream != streamName(b.name) || parsed.Sequence != position || parsed.Duplicate:
		return fmt.Errorf("%w: confirmed for stream %q at %d", jsapi.ErrUnexpectedAnswer, parsed.Stream,
			parsed.Sequence)
	}
	return nil
}

// resolve finds out whether the outcome of the append is known. A refusal by itself proves nothing: it may
// come from a deposed leader, or an earlier copy was stored.
func (a *pendingAppend) resolve(ctx context.Context, timeout time.Duration, reason error) (resolved bool, err error) {
	if a.mayBeStored { // mutant: ConflictWithoutLooking
		switch result, err := a.probe(ctx, timeout, reason); result {
		case stored:
			return true, nil
		case conflict:
			return true, err // mutant: RefusedAppendTakenForStored
		case purged:
			return true, fmt.Errorf("%w: the position was filled and purged", journal.ErrUnknown)
		case noAnswer:
			if cause := jsapi.PermanentError(a.nc, err); cause != nil {
				return true, a.giveUp(cause)
			}
		}
	}
	if isAlwaysRefused(reason) || errors.Is(reason, jsapi.ErrUnexpectedAnswer) {
		return true, a.giveUp(reason)
	}
	if cause := jsapi.PermanentError(a.nc, reason); cause != nil {
		return true, a.giveUp(cause)
	}
	return false, nil
}

// giveUp returns the error that the append ends with.
func (a *pendingAppend) giveUp(reason error) error {
	if a.mayBeStored {
		return fmt.Errorf("%w: %w", journal.ErrUnknown, reason)
	}
	return fmt.Errorf("%w: %w", journal.ErrNotStored, reason)
}

// probeResult is what a probe finds at a record's position.
type probeResult int

const (
	noAnswer probeResult = iota // the leader did not answer
	empty
	stored
	conflict
	purged
)

// probe reads the record's position from the leader of the stream. A message there is certain, because only
// committed messages can be read. An empty position is not, because the leader may be a deposed one.
func (a *pendingAppend) probe(ctx context.Context, timeout time.Duration, reason error) (probeResult, error) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	m, err := a.first(ctx, a.position, ">")
	switch {
	case errors.Is(err, jetstream.ErrMsgNotFound):
		return a.probeTail(ctx, reason)
	case err != nil:
		return noAnswer, err
	case m.Sequence > a.position:
		return purged, nil
	case m.Subject == a.msg.Subject && bytes.Equal(m.Data, a.msg.Data):
		return stored, nil
	default:
		return conflict, fmt.Errorf("%w: %s", journal.ErrConflict, a.describe(m))
	}
}

// probeTail distinguishes an empty position from one that was filled and purged with nothing behind it, where the
// stream's last sequence has passed it.
func (a *pendingAppend) probeTail(ctx context.Context, reason error) (probeResult, error) {
	if !jsapi.HasCode(reason, jetstream.JSErrCodeStreamWrongLastSequence) {
		return empty, nil
	}
	info, err := a.info(ctx)
	if err != nil {
		return noAnswer, err
	}
	if info.State.LastSeq < a.position {
		return empty, nil
	}
	// The copy may have been stored between the two requests.
	if _, err := a.first(ctx, a.position, ">"); errors.Is(err, jetstream.ErrMsgNotFound) {
		return purged, nil
	}
	return empty, nil
}

// describe names the record at the position.
func (a *pendingAppend) describe(m *jetstream.RawStreamMsg) string {
	key := m.Subject[min(len(a.subject), len(m.Subject)):]
	r, err := decode(key, m.Header, m.Data)
	if err != nil {
		return m.Subject
	}
	if writer := r.GetCommit().GetWriter(); writer != nil {
		return fmt.Sprintf("%s, by node %q", r.Describe(), writer.GetNode())
	}
	return r.Describe()
}

// isNotSent reports whether the client refused the message before it left.
func isNotSent(err error) bool {
	return errors.Is(err, nats.ErrReconnectBufExceeded) || errors.Is(err, nats.ErrMaxPayload) ||
		errors.Is(err, nats.ErrConnectionDraining) || errors.Is(err, nats.ErrHeadersNotSupported)
}

// isAlwaysRefused reports whether every repetition of the message is refused: by the client, by the connection's
// permissions, or by the bucket's settings, which all replicas share.
func isAlwaysRefused(err error) bool {
	return errors.Is(err, jsapi.ErrForbidden) || errors.Is(err, nats.ErrMaxPayload) ||
		errors.Is(err, nats.ErrHeadersNotSupported) ||
		jsapi.HasCode(err, jetstream.JSErrCodeStreamMessageExceedsMaximum, jsapi.CodeHeaderTooLarge, jsapi.CodeSealed,
			jsapi.CodeStreamNotMatch)
}
