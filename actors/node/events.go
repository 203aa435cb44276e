package node

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/holdfast-io/holdfast/actors"
	"github.com/holdfast-io/holdfast/messages"
)

// arrivalTimeout bounds how long NATS may take to confirm what was published.
const arrivalTimeout = 5 * time.Second

// newPublisher returns what publishes events, nil if they are not published.
func newPublisher(cfg Config) actors.Publisher {
	if cfg.Events == nil {
		return nil
	}
	return &events{nc: cfg.Events, prefix: cfg.Prefix, retainer: cfg.Retainer}
}

// events stores events if there is a retainer, and publishes them to subscribers. It implements actors.Publisher.
type events struct {
	nc     *nats.Conn
	prefix messages.Prefix
	// retainer stores events; nil if they are not stored.
	retainer actors.Publisher
}

// Publish implements actors.Publisher. Events are stored first: after an error they are published again, and the
// retainer ignores those that it has.
func (p *events) Publish(ctx context.Context, events []*messages.Event) error {
	if p.retainer != nil {
		if err := p.retainer.Publish(ctx, events); err != nil {
			return err
		}
	}
	return p.publishConfirmed(ctx, events)
}

// publishConfirmed publishes events to subscribers. NATS handles the messages of a connection in order, so the answer to the
// PING behind the events confirms them, if the connection has not changed. NATS drops events that the user may not
// publish, and reports that on the connection before it answers.
func (p *events) publishConfirmed(ctx context.Context, events []*messages.Event) error {
	reconnects, note := p.nc.Stats().Reconnects, p.nc.LastError()
	if err := p.send(events); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, arrivalTimeout)
	defer cancel()
	if err := p.nc.FlushWithContext(ctx); err != nil {
		return fmt.Errorf("NATS has not confirmed the events: %w", err)
	}
	if p.nc.Stats().Reconnects != reconnects {
		return fmt.Errorf("NATS has not confirmed the events: %w", nats.ErrDisconnected)
	}
	if err := p.nc.LastError(); err != note && errors.Is(err, nats.ErrPermissionViolation) { //nolint:errorlint // the very same one is old
		return fmt.Errorf("the NATS user must be allowed to publish to %s: %w", p.prefix.Event(">"), err)
	}
	return nil
}

func (p *events) send(events []*messages.Event) error {
	m := &nats.Msg{Header: make(nats.Header)} // nats.go copies it
	for _, e := range events {
		key, err := messages.EncodeKey(e.GetLease().GetResource())
		if err != nil {
			return fmt.Errorf("event %s: %w", e.ID(), err)
		}
		m.Subject, m.Data = p.prefix.Event(key), e.AppendJSON(m.Data[:0])
		e.SetHeader(m.Header)
		if err := p.nc.PublishMsg(m); err != nil {
			return fmt.Errorf("event %s on %s: %w", e.ID(), m.Subject, err)
		}
	}
	return nil
}
