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

// How long a copy of a record, or the question where it stands, waits for an answer: at first, and at
// last. A leader that steps down drops what reaches it without a word, so the first wait is what a
// planned change of leader costs. Being too short costs a question and a copy that is refused.
const (
	shortestPatience = 200 * time.Millisecond
	longestPatience  = 500 * time.Millisecond
)

// Append stores the record right behind position after and nowhere else, and returns nil once
// JetStream has confirmed it, on disk and on a majority of the replicas. Only one Append at a time may
// be under way for one owner.
//
// [journal.ErrConflict] is certain: another writer's record stands there, and this one never will.
// [journal.ErrNotStored] is certain as well: it never left, or JetStream takes no such record.
// [journal.ErrUnknown] leaves the outcome open, because ctx has ended, the connection was closed, or
// the place has been filled and purged in the meantime. Until one of them is sure, the record is sent
// again and again, as often as need be: only one copy can ever be stored.
func (b *Bucket) Append(ctx context.Context, after uint64, r *journal.Record) error {
	d := draft{Bucket: b, place: after + 1}
	key, data, err := journal.Encode(r)
	if err == nil {
		err = ctx.Err()
	}
	if err == nil {
		err = b.turn.take(ctx)
	}
	if err != nil {
		return b.wrong(d.place, key, fmt.Errorf("%w: %w", journal.ErrNotStored, err))
	}
	defer b.turn.pass()
	d.msg = nats.Msg{
		Subject: b.subject + key,
		Header:  nats.Header{jetstream.ExpectedLastSeqHeader: {strconv.FormatUint(after, 10)}},
		Data:    data,
	}
	if err := d.store(ctx); err != nil {
		return b.wrong(d.place, key, err)
	}
	raise(&b.written, d.place)
	if r.GetCommit() != nil {
		raise(&b.commit, d.place)
	}
	return nil
}

// draft is a record on its way to its place.
type draft struct {
	*Bucket
	place uint64
	msg   nats.Msg
	loose bool // a copy is under way that may be stored at any time
}

func (d *draft) store(ctx context.Context) error {
	patience := shortestPatience
	var backoff retry.Backoff
	for {
		reason := d.send(ctx, patience)
		if reason == nil {
			return nil
		}
		if settled, err := d.settle(ctx, patience, reason); settled {
			return err
		}
		patience = min(2*patience, longestPatience)
		if err := backoff.Wait(ctx); err != nil {
			return d.unsettled(fmt.Errorf("%w; last: %w", err, reason))
		}
	}
}

// send sends one copy and returns nil if JetStream has confirmed it in time.
func (d *draft) send(ctx context.Context, patience time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	var answer *nats.Msg
	err := jsapi.Publish(d.nc, d.msg.Subject, func() (err error) {
		answer, err = d.nc.RequestMsgWithContext(ctx, &d.msg)
		return err
	})
	if err == nil {
		err = d.confirms(answer.Data, d.place)
	}
	if err != nil && !neverSent(err) && !neverTaken(err) {
		d.loose = true
	}
	return err
}

// confirms returns nil if the answer is JetStream's acknowledgement for the place. The usual one is
// known in advance, byte for byte.
func (b *Bucket) confirms(answer []byte, place uint64) error {
	usual := make([]byte, len(b.ack), len(b.ack)+21)
	copy(usual, b.ack)
	usual = append(strconv.AppendUint(usual, place, 10), '}')
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
	case parsed.Stream != streamName(b.name) || parsed.Sequence != place || parsed.Duplicate:
		return fmt.Errorf("%w: confirmed for stream %q at %d", jsapi.ErrUnexpectedAnswer, parsed.Stream, parsed.Sequence)
	}
	return nil
}

// settle looks whether the record stands at its place. A refusal by itself proves nothing: it may
// come from a leader that has been deposed, or from an earlier copy having been stored.
func (d *draft) settle(ctx context.Context, patience time.Duration, reason error) (settled bool, err error) {
	if d.loose {
		switch found, err := d.look(ctx, patience, reason); found {
		case ours:
			return true, nil
		case theirs:
			return true, err
		case gone:
			return true, fmt.Errorf("%w: the place was filled and purged", journal.ErrUnknown)
		case unseen:
			if cause := jsapi.PermanentError(d.nc, err); cause != nil {
				return true, d.unsettled(cause)
			}
		}
	}
	if neverTaken(reason) || errors.Is(reason, jsapi.ErrUnexpectedAnswer) {
		return true, d.unsettled(reason)
	}
	if cause := jsapi.PermanentError(d.nc, reason); cause != nil {
		return true, d.unsettled(cause)
	}
	return false, nil
}

// unsettled returns the error for giving up.
func (d *draft) unsettled(reason error) error {
	if d.loose {
		return fmt.Errorf("%w: %w", journal.ErrUnknown, reason)
	}
	return fmt.Errorf("%w: %w", journal.ErrNotStored, reason)
}

// standing is what is found at a record's place.
type standing int

const (
	unseen standing = iota // nobody could say
	nothing
	ours
	theirs
	gone
)

// look asks the leader of the stream what stands at the place. What stands there is certain, for only
// committed messages are readable; that nothing does is not, for the leader may be a deposed one.
func (d *draft) look(ctx context.Context, patience time.Duration, reason error) (standing, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	m, err := d.first(ctx, d.place, ">")
	switch {
	case errors.Is(err, jetstream.ErrMsgNotFound):
		return d.lookForTail(ctx, reason)
	case err != nil:
		return unseen, err
	case m.Sequence > d.place:
		return gone, nil
	case m.Subject == d.msg.Subject && bytes.Equal(m.Data, d.msg.Data):
		return ours, nil
	default:
		return theirs, fmt.Errorf("%w: %s", journal.ErrConflict, d.describe(m))
	}
}

// lookForTail tells an empty place from the rare one that was filled and purged with nothing behind
// it: then the stream's last sequence has passed it.
func (d *draft) lookForTail(ctx context.Context, reason error) (standing, error) {
	if !jsapi.HasCode(reason, jetstream.JSErrCodeStreamWrongLastSequence) {
		return nothing, nil
	}
	state, err := d.state(ctx)
	if err != nil {
		return unseen, err
	}
	if state.LastSeq < d.place {
		return nothing, nil
	}
	// The copy may have arrived between the two questions.
	if _, err := d.first(ctx, d.place, ">"); errors.Is(err, jetstream.ErrMsgNotFound) {
		return gone, nil
	}
	return nothing, nil
}

// describe names the record that stands in the way.
func (d *draft) describe(m *jetstream.RawStreamMsg) string {
	key := m.Subject[min(len(d.subject), len(m.Subject)):]
	r, err := decode(key, m.Header, m.Data)
	if err != nil {
		return m.Subject
	}
	if writer := r.GetCommit().GetWriter(); writer != nil {
		return fmt.Sprintf("%s, by node %q", r.Describe(), writer.GetNode())
	}
	return r.Describe()
}

// neverSent tells whether the client refused the message before it left.
func neverSent(err error) bool {
	return errors.Is(err, nats.ErrReconnectBufExceeded) || errors.Is(err, nats.ErrMaxPayload) ||
		errors.Is(err, nats.ErrConnectionDraining) || errors.Is(err, nats.ErrHeadersNotSupported)
}

// neverTaken tells whether the same message is refused every time and everywhere: by the client, by the
// connection's permissions, or by the bucket's settings, which all replicas share.
func neverTaken(err error) bool {
	return errors.Is(err, jsapi.ErrForbidden) || errors.Is(err, nats.ErrMaxPayload) || errors.Is(err, nats.ErrHeadersNotSupported) ||
		jsapi.HasCode(err, jetstream.JSErrCodeStreamMessageExceedsMaximum, jsapi.CodeHeaderTooLarge, jsapi.CodeSealed, jsapi.CodeStreamNotMatch)
}
