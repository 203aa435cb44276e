// Package page shows a deployment to its operators in a browser: whether it is well, locks, sessions, nodes and changes. It asks the
// deployment as clients do, so each node shows all of it. Each view is an HTML page that needs no JavaScript; with
// JavaScript, an event stream keeps it fresh.
package page

import (
	"context"
	"fmt"
	"html/template"
	"log/slog"
	"net/url"
	"sync/atomic"

	"github.com/nats-io/nats.go"

	"github.com/holdfast-io/holdfast/messages"
)

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
	// kinds are those of views, in the order of the navigation; set by [Page.Register].
	kinds []*kind
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
	go d.chronicle.follow(p.life.Done(), n.Nodes)
	p.running.Store(d)
	return nil
}

// Close ends the event streams. The connection may be closed already.
func (p *Page) Close(ctx context.Context) error {
	p.end()
	if d := p.running.Load(); d != nil {
		return d.client.Close(ctx)
	}
	return nil
}

// view is what one request looks at. Its exported members are for its template.
type view interface {
	// Summary says in a sentence what the view shows.
	Summary() string
	// load reads what the view shows, again each time.
	load(ctx context.Context, d *deployment) error
}

// kind is a kind of view.
type kind struct {
	// name is that of its path and its template, title its heading.
	name, title string
	// root: it is at the root. hidden: it is not in the navigation, because it needs a parameter.
	root, hidden bool
	// open returns the view that the parameters ask for. With an error it may be there, for its form.
	open func(p *Page, query url.Values) (view, error)

	template *template.Template
}

// path returns where the view is, relative to the other views.
func (k *kind) path() string {
	if k.root {
		return "./"
	}
	return k.name
}

// pattern returns the path for a mux, without the first slash.
func (k *kind) pattern() string {
	if k.root {
		return "{$}"
	}
	return k.name
}
