package eventlog

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"sort"
	"strconv"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/holdfast-io/holdfast/jetstream/internal/jsapi"
	"github.com/holdfast-io/holdfast/messages"
)

const (
	// batchWorth is the number of events from which on a batch is faster: JetStream keeps a batch in files of
	// its own until it is stored, which takes 8 ms and more.
	batchWorth = 50
	// batchMessages is the most messages that JetStream accepts in one batch, batchBytes the most bytes that
	// are put into one.
	batchMessages = 1000
	batchBytes    = 1 << 20
	// lookTimeout bounds the question whether an event is stored.
	lookTimeout = 500 * time.Millisecond
	// batchTimeout bounds how long a batch may take to be stored.
	batchTimeout = 2 * time.Second
)

// Headers of a batch, which nats.go has no names for. https://github.com/nats-io/nats-architecture-and-design
// describes them in ADR-50.
const (
	batchIDHeader       = "Nats-Batch-Id"
	batchSequenceHeader = "Nats-Batch-Sequence"
	batchCommitHeader   = "Nats-Batch-Commit"
)

// Wants implements [actors.Publisher]: the stream stores all events.
func (s *Stream) Wants(string) bool { return true }

// Publish stores events of one shard in their order, and returns nil once all of them are stored. It skips
// events that the stream has already, also those of another publisher. After an error any of them may have
// been stored; the same call again stores the rest.
//
// Two rules make it exactly once. The events of a shard are published in their order, so the stream has all
// events before one that it has, and the last message on an event's subject shows whether it has that event. It may be
// of another generation of shards, which begins above all positions of the one before.
// And the first message of a batch is stored only if that message is still the last one. Another publisher of
// the shard, such as a paused predecessor, has either stored the first event of the batch, and then none of the
// batch is stored again, or its own batch is refused.
func (s *Stream) Publish(ctx context.Context, events []*messages.Event) error {
	for len(events) > 0 {
		last, has, err := s.last(ctx, events[0])
		if err != nil {
			return err
		}
		n := 0
		if has {
			n, err = s.stored(ctx, events)
		} else {
			n, err = s.store(ctx, events, last)
		}
		if err != nil {
			return err
		}
		events = events[n:]
	}
	return nil
}

// last returns the sequence of the last message on an event's subject, 0 if there is none, and whether
// the stream has the event.
func (s *Stream) last(ctx context.Context, e *messages.Event) (sequence uint64, has bool, err error) {
	key, err := eventKey(e)
	if err != nil {
		return 0, false, err
	}
	ctx, cancel := context.WithTimeout(ctx, lookTimeout)
	defer cancel()
	var m *jetstream.RawStreamMsg
	err = jsapi.Request(s.nc, "STREAM.MSG.GET."+s.name, func() (err error) {
		m, err = s.stream.GetLastMsgForSubject(ctx, s.prefix.Event(key))
		return err
	})
	switch {
	case errors.Is(err, jetstream.ErrMsgNotFound):
		return 0, false, nil
	case err != nil:
		return 0, false, fmt.Errorf("stream %s: cannot find out whether it has event %s: %w", s.name, e.ID(), err)
	}
	id, err := messages.ParseEventID(m.Header.Get(messages.HeaderEventID))
	has = err == nil && !id.Before(e.ID()) // mutant: EventOfAFormerShardStoredAgain
	return m.Sequence, has, nil
}

// stored returns how many of the events the stream has. These are the first ones, and at least one.
func (s *Stream) stored(ctx context.Context, events []*messages.Event) (n int, err error) {
	n = 1 + sort.Search(len(events)-1, func(i int) bool {
		_, has, failure := s.last(ctx, events[1+i])
		err = errors.Join(err, failure)
		return !has
	})
	return n, err
}

// store stores the first event or a batch of them, if the last message on the first one's subject still has the
// sequence last. It returns how many it has stored.
func (s *Stream) store(ctx context.Context, events []*messages.Event, last uint64) (int, error) {
	if len(events) < batchWorth {
		events = events[:1]
	}
	batch, err := s.batch(events)
	if err != nil {
		return 0, err
	}
	n := len(batch)
	batch[0].Header[jetstream.ExpectedLastSubjSeqHeader] = []string{strconv.FormatUint(last, 10)}
	if n > 1 {
		markBatch(batch)
	}
	for _, m := range batch[:n-1] {
		if err := s.nc.PublishMsg(m); err != nil {
			return 0, fmt.Errorf("stream %s: %w", s.name, err)
		}
	}
	ctx, cancel := context.WithTimeout(ctx, batchTimeout)
	defer cancel()
	var answer *nats.Msg
	err = jsapi.Publish(s.nc, batch[n-1].Subject, func() (err error) {
		answer, err = s.nc.RequestMsgWithContext(ctx, batch[n-1])
		return err
	})
	if err != nil {
		return 0, fmt.Errorf("stream %s does not answer: %w", s.name, err)
	}
	return n, s.checkAck(answer.Data, n)
}

// batch returns the messages of the events, as many as one batch may have.
func (s *Stream) batch(events []*messages.Event) ([]*nats.Msg, error) {
	batch := make([]*nats.Msg, 0, min(len(events), batchMessages))
	bytes := 0
	for _, e := range events[:cap(batch)] {
		key, err := eventKey(e)
		if err != nil {
			return nil, err
		}
		m := &nats.Msg{Subject: s.prefix.StoredEvent(key), Header: make(nats.Header), Data: e.AppendJSON(nil)}
		e.SetHeader(m.Header)
		if bytes += m.Size(); bytes > batchBytes && len(batch) > 0 {
			break
		}
		batch = append(batch, m)
	}
	return batch, nil
}

// markBatch turns the messages into one batch: JetStream stores all of them or none.
func markBatch(batch []*nats.Msg) {
	id := []string{rand.Text()}
	for i, m := range batch {
		m.Header[batchIDHeader] = id
		m.Header[batchSequenceHeader] = []string{strconv.Itoa(i + 1)}
	}
	batch[len(batch)-1].Header[batchCommitHeader] = []string{"1"}
}

// checkAck returns nil if the answer is JetStream's acknowledgement for n messages.
func (s *Stream) checkAck(answer []byte, n int) error {
	var parsed struct {
		Error  *jetstream.APIError `json:"error"`
		Stream string              `json:"stream"`
		Count  int                 `json:"count"`
		// Duplicate says that the message was not stored, because another one had its id.
		Duplicate bool `json:"duplicate"`
	}
	err := json.Unmarshal(answer, &parsed)
	switch {
	case err != nil || parsed.Error == nil && parsed.Stream != s.name:
		return fmt.Errorf("stream %s: %w: %.100q", s.name, jsapi.ErrUnexpectedAnswer, answer)
	case parsed.Error != nil:
		return fmt.Errorf("stream %s refuses events: %w", s.name, parsed.Error)
	case parsed.Duplicate:
		return fmt.Errorf("stream %s: %w: it has another message with the id of an event", s.name,
			jsapi.ErrUnexpectedAnswer)
	case n > 1 && parsed.Count != n:
		return fmt.Errorf("stream %s: %w: %d of %d events stored", s.name, jsapi.ErrUnexpectedAnswer, parsed.Count, n)
	}
	return nil
}

// eventKey returns what the stored subject of the event ends with: its key, behind the tenant of its resource if it has
// one. So one stream with one transform has the events of all tenants.
func eventKey(e *messages.Event) (string, error) {
	key, err := messages.EncodeKey(e.GetLease().GetResource())
	if err != nil {
		return "", fmt.Errorf("event %s: %w", e.ID(), err)
	}
	if tenant := e.GetLease().GetTenant(); tenant != "" {
		return messages.StoredTenant(tenant) + key, nil
	}
	return key, nil
}
