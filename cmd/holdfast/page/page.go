// Package page shows a deployment to its operators in a browser: locks, sessions, nodes and changes. It asks the
// deployment as clients do, so each node shows all of it. Each view is an HTML page that needs no JavaScript; with
// JavaScript, an event stream keeps it fresh.
package page

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"sync/atomic"

	"github.com/nats-io/nats.go"

	"github.com/holdfast-io/holdfast/actors"
	"github.com/holdfast-io/holdfast/messages"
)

// Node is what the page reads from its node. *node.Node has these methods.
type Node interface {
	// Census returns the figures of the shards that are open here.
	Census(ctx context.Context) map[uint32]actors.Census
}

// Config configures a page.
type Config struct {
	// Prefix is the first token of the deployment's subjects.
	Prefix messages.Prefix
	// Name is that of the node.
	Name string
	// Actions permits changes: an operator may break a lease.
	Actions bool
	// Log receives the changes that were made on the page.
	Log *slog.Logger
}

// Page serves the views of a deployment. It is safe for concurrent use.
type Page struct {
	cfg     Config
	running atomic.Pointer[deployment] // nil until the node runs
	// views has a place for each view that is being read, and streams one for each event stream that is open.
	views, streams chan struct{}
	// life ends with [Page.Close].
	life context.Context
	end  context.CancelFunc
}

// maxViews and maxStreams are how many views and event streams are served at a time. They leave connections for scrapes
// and checks.
const maxViews, maxStreams = 8, 32

// New returns the page of a node that is being started.
func New(cfg Config) *Page {
	p := &Page{cfg: cfg, views: make(chan struct{}, maxViews), streams: make(chan struct{}, maxStreams)}
	p.life, p.end = context.WithCancel(context.Background())
	return p
}

// Started says that the node serves requests. The page asks the deployment on the connection, which the caller closes.
func (p *Page) Started(nc *nats.Conn, n Node) error {
	d, err := openDeployment(nc, p.cfg.Prefix, n)
	if err != nil {
		return fmt.Errorf("the page cannot receive answers: %w", err)
	}
	p.running.Store(d)
	return nil
}

// Close ends the event streams. The connection may be closed already.
func (p *Page) Close(ctx context.Context) error {
	p.end()
	if d := p.running.Load(); d != nil {
		return d.close(ctx)
	}
	return nil
}

// Register adds the page to the paths that mux serves: the root, and a path for each view.
func (p *Page) Register(mux *http.ServeMux) {
	handle := func(pattern string, h http.Handler) { mux.Handle(pattern, guarded(h)) }
	for _, k := range kinds {
		handle("GET /"+k.pattern(), p.show(k))
		handle("GET /stream/"+k.name, p.stream(k))
	}
	handle("GET /static/", static)
	if p.cfg.Actions {
		handle("POST /break", http.NewCrossOriginProtection().Handler(
			bounded(p.views, "views are being read", p.breakLease)))
	}
}
