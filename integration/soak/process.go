package soak

import (
	"context"
	"sync"
	"sync/atomic"

	"github.com/nats-io/nats.go"
)

// address is where the node's server is found at present.
type address struct {
	mu      sync.Mutex
	url     string
	changed chan struct{}
}

func newAddress() *address { return &address{changed: make(chan struct{})} }

func (a *address) set(url string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.url = url
	close(a.changed)
	a.changed = make(chan struct{})
}

func (a *address) current() (url string, changed <-chan struct{}) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.url, a.changed
}

// connection is one TCP connection to the node's server, for several clients.
type connection struct {
	*nats.Conn
	life uint64
	// over is closed when it is gone; crashed says that it is the clients' process that died.
	over    chan struct{}
	crashed atomic.Bool

	mu sync.Mutex
	n  uint64
}

func (c *connection) isOver() bool {
	select {
	case <-c.over:
		return true
	default:
		return false
	}
}

// send publishes, and returns the request's place among all that were sent on this connection.
func (c *connection) send(m *nats.Msg) (place uint64, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.n++
	return c.n, c.PublishMsg(m)
}

// process is what clients have in common who crash together.
type process struct {
	*run
	mu   sync.Mutex
	now  *connection
	next chan struct{} // closed when there is a new connection
}

func newProcess(r *run) *process { return &process{run: r, next: make(chan struct{})} }

// connection returns a connection that is not known to be over.
func (p *process) connection(ctx context.Context) (*connection, error) {
	for {
		p.mu.Lock()
		c, next := p.now, p.next
		p.mu.Unlock()
		if c != nil && !c.isOver() {
			return c, nil
		}
		select {
		case <-next:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

// live connects again whenever the connection is gone, and crashes from time to time.
func (p *process) live(ctx context.Context, rng *dice) {
	for ctx.Err() == nil {
		url, changed := p.address.current()
		c, err := p.connect(url)
		if err != nil {
			select {
			case <-changed:
			case <-p.after(rng.between(retryLeast, retryMost)):
			case <-ctx.Done():
			}
			continue
		}
		select {
		case <-c.over:
		case <-ctx.Done():
		case <-p.after(rng.between(p.cfg.crashEvery/2, 3*p.cfg.crashEvery/2)):
			if !p.stopping() {
				p.crashes.Add(1)
				c.crashed.Store(true)
			}
		}
		p.disconnect(c)
	}
}

func (p *process) connect(url string) (*connection, error) {
	c := &connection{life: p.lives.Add(1), over: make(chan struct{})}
	nc, err := nats.Connect(url, p.login, nats.NoReconnect(),
		nats.ClosedHandler(func(*nats.Conn) { close(c.over) }),
		nats.ErrorHandler(func(*nats.Conn, *nats.Subscription, error) {}), // over says it
	)
	if err != nil {
		return nil, err
	}
	c.Conn = nc
	p.mu.Lock()
	defer p.mu.Unlock()
	p.now = c
	close(p.next)
	p.next = make(chan struct{})
	return c, nil
}

func (p *process) disconnect(c *connection) {
	p.mu.Lock()
	p.now = nil
	p.mu.Unlock()
	c.Close()
	<-c.over
}
