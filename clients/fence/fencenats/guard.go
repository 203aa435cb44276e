package fencenats

import (
	"context"
	"errors"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/micro"

	"github.com/holdfast-io/holdfast/clients/fence"
	"github.com/holdfast-io/holdfast/clients/fence/internal/admission"
)

// defaultTimeout is some hundred times the duration of raising a mark, and short enough for a waiting client.
const defaultTimeout = 5 * time.Second

// Guard guards handlers. It may be used concurrently, for any number of them.
type Guard struct {
	gate    admission.Gate[string]
	refused func(subject string, err error)
}

// Option changes how handlers are guarded.
type Option func(*Guard)

// WithResource takes the resource of a message from its subject rather than by its header. A header
// that names another resource is refused. So is a message for which f returns an error, whose text its
// sender is shown.
func WithResource(f func(subject string) (string, error)) Option {
	return func(g *Guard) { g.gate.Resource = f }
}

// WithOptionalClaims lets messages pass that show no claim, for the time until all clients lock. A claim
// that is shown is checked.
func WithOptionalClaims() Option {
	return func(g *Guard) { g.gate.Optional = true }
}

// WithTimeout bounds the raising of a mark; the default is 5 seconds, 0 sets no bound. The subscription
// handles no other message in that time.
func WithTimeout(d time.Duration) Option {
	return func(g *Guard) { g.gate.Timeout = d }
}

// OnRefused has f called, concurrently, for each message that is refused or whose claim could not be
// checked, such as to log or count it. The error is [ErrUnanswered], too, if the sender does not learn
// of it.
func OnRefused(f func(subject string, err error)) Option {
	return func(g *Guard) { g.refused = f }
}

// WithObserver sets the observer, which receives each claim that the guard has checked. Marks may have an observer of
// their own, which receives them too.
func WithObserver(o fence.Observer) Option {
	return func(g *Guard) { g.gate.Observer = o }
}

// New returns a guard that lets a message through after it has raised the mark of its claim in marks.
// Handlers find the claim in their context, by [fence.FromContext].
func New(marks fence.Marks, opts ...Option) *Guard {
	gate := admission.Gate[string]{Marks: marks, Timeout: defaultTimeout, Guard: "fencenats"}
	g := &Guard{gate: gate, refused: func(string, error) {}}
	for _, o := range opts {
		o(g)
	}
	return g
}

// Handler returns a guarded handler for an endpoint of package micro. The context of next is
// derived from ctx, which lasts as long as the service.
func (g *Guard) Handler(ctx context.Context, next func(context.Context, micro.Request)) micro.Handler {
	return micro.HandlerFunc(func(r micro.Request) {
		ctx, err := g.gate.Admit(ctx, r.Headers(), r.Subject())
		if err != nil {
			g.refused(r.Subject(), errors.Join(err, Error(r, err)))
			return
		}
		next(ctx, r)
	})
}

// MsgHandler returns a guarded handler for a subscription. The context of next is derived from
// ctx, which lasts as long as the subscription.
func (g *Guard) MsgHandler(ctx context.Context, next func(context.Context, *nats.Msg)) nats.MsgHandler {
	return func(m *nats.Msg) {
		ctx, err := g.gate.Admit(ctx, m.Header, m.Subject)
		if err != nil {
			g.refused(m.Subject, errors.Join(err, MsgError(m, err)))
			return
		}
		next(ctx, m)
	}
}
