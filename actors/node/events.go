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
	interest := cfg.Interest
	if interest == nil {
		interest = func(string) bool { return true }
	}
	return &events{nc: cfg.Events, prefix: cfg.Prefix, retainer: cfg.Retainer, interest: interest}
}

// events stores events if there is a retainer, and publishes them to subscribers. It implements actors.Publisher.
type events struct {
	nc     *nats.Conn
	prefix messages.Prefix
	// retainer stores events; nil if they are not stored.
	retainer actors.Publisher
	// interest reports whether a subject has a subscriber.
	interest func(subject string) bool
}

// Wants implements actors.Publisher.
func (p *events) Wants(resource string) bool {
	if p.retainer != nil {
		return true
	}
	subject, err := p.prefix.EventOf(resource)
	return err != nil || p.interest(subject)
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

// publishConfirmed publishes events to subscribers. NATS handles the messages of a connection in order, so the answer
// to the PING behind the events confirms them, if the connection has not changed. NATS drops events that the user may
// not publish, and reports that on the connection before it answers.
func (p *events) publishConfirmed(ctx context.Context, events []*messages.Event) error {
	reconnects, note := p.nc.Stats().Reconnects, p.nc.LastError()
	if sent, err := p.send(events); err != nil || sent == 0 {
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
	err := p.nc.LastError()
	if err != note && errors.Is(err, nats.ErrPermissionViolation) { //nolint:errorlint // the very same one is old
		return fmt.Errorf("the NATS user must be allowed to publish to %s: %w", p.prefix.Event(">"), err)
	}
	return nil
}

// send publishes the events that have a subscriber, and returns how many these are.
func (p *events) send(events []*messages.Event) (sent int, err error) {
	m := &nats.Msg{Header: make(nats.Header)} // nats.go copies it
	for _, e := range events {
		if m.Subject, err = e.Subject(p.prefix); err != nil {
			return sent, err
		}
		if !p.interest(m.Subject) {
			continue
		}
		m.Data = e.AppendJSON(m.Data[:0])
		e.SetHeader(m.Header)
		if err := p.nc.PublishMsg(m); err != nil {
			return sent, fmt.Errorf("event %s on %s: %w", e.ID(), m.Subject, err)
		}
		sent++
	}
	return sent, nil
}
