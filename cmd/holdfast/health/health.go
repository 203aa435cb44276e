// Package health reports whether a node is alive, and whether it is ready: to a supervisor over HTTP, and to a program.
package health

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync/atomic"
)

// Node is what a node says of itself. *node.Node has these methods.
type Node interface {
	// Connected returns an error if the node is not connected to NATS.
	Connected() error
	// Hears returns an error if the node does not hear itself over NATS.
	Hears() error
	// Ticks returns an error if the assignment of shards stands still.
	Ticks() error
	// Answers returns an error if the goroutine of a shard does not answer before ctx ends.
	Answers(ctx context.Context) error
	// Commits returns an error if the node does not prove before ctx ends that it can commit.
	Commits(ctx context.Context) error
}

// Health knows whether a node is alive and ready. It is safe for concurrent use. The zero value is not ready for use:
// see [New].
type Health struct {
	live, ready *checks
	node        atomic.Pointer[Node]
	stopping    atomic.Bool
}

var (
	errStarting = errors.New("the node is being started")
	errStopping = errors.New("the node is stopping")
)

// New returns the health of a node that is being started: it is alive and not ready.
func New() *Health {
	h := &Health{}
	h.live = newChecks("livez",
		check{"assignment", h.ofNode(func(_ context.Context, n Node) error { return n.Ticks() })},
		check{"shards", h.ofNode(func(ctx context.Context, n Node) error { return n.Answers(ctx) })},
	)
	h.ready = newChecks("readyz",
		check{"started", h.started},
		check{"running", h.running},
		check{"nats", h.ofNode(func(_ context.Context, n Node) error { return n.Connected() })},
		check{"announcements", h.ofNode(func(_ context.Context, n Node) error { return n.Hears() })},
		check{"commits", h.ofNode(func(ctx context.Context, n Node) error { return n.Commits(ctx) })},
	)
	return h
}

// Started says that the node serves requests.
func (h *Health) Started(n Node) { h.node.Store(&n) }

// Stopping says that the node is about to hand over its shards: it is not ready any more.
func (h *Health) Stopping() {
	h.stopping.Store(true)
	h.ready.forget()
}

// Live answers 200 if the process works, also while it starts and stops. Otherwise it should be restarted.
func (h *Health) Live() http.Handler { return h.live }

// Ready answers 200 if the node can commit and is not about to stop.
func (h *Health) Ready() http.Handler { return h.ready }

// Check returns nil when [Health.Ready] answers 200, and else which of its checks failed, and why: "nats: ...".
func (h *Health) Check(ctx context.Context) error {
	var failed []error
	for i, err := range h.ready.run(ctx) {
		if err != nil {
			failed = append(failed, fmt.Errorf("%s: %w", h.ready.all[i].name, err))
		}
	}
	return errors.Join(failed...)
}

// ofNode returns a check of a node that runs. One that starts or stops has no shards and connections to be checked, or
// is about to have none.
func (h *Health) ofNode(run func(context.Context, Node) error) func(context.Context) error {
	return func(ctx context.Context) error {
		if n := h.node.Load(); n != nil && !h.stopping.Load() {
			return run(ctx, *n)
		}
		return nil
	}
}

func (h *Health) started(context.Context) error {
	if h.node.Load() == nil {
		return errStarting
	}
	return nil
}

func (h *Health) running(context.Context) error {
	if h.stopping.Load() {
		return errStopping
	}
	return nil
}
