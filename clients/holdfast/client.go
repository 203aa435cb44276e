package holdfast

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/holdfast-io/holdfast/messages"
)

// Client asks a Holdfast deployment for locks, on a NATS connection that belongs to the application. It
// is safe for concurrent use; one for each process is enough.
type Client struct {
	nc    *nats.Conn
	cfg   config
	owner string

	// deployment is what the service told about itself, nil until it has; discovered is closed then.
	deployment atomic.Pointer[Info]
	discovered chan struct{}
	// detour is until when the direct door is avoided, because it does not answer; in nanoseconds since
	// born.
	detour atomic.Int64
	born   time.Time

	inbox   string
	answers *nats.Subscription
	status  chan nats.Status

	mu      sync.Mutex
	lastTry uint64
	tries   map[uint64]*try
	holds   map[messages.Claim]*hold
	// shared are the leases that a further lock may share.
	shared map[party]*hold
	// revived is closed and replaced whenever the connection is there again.
	revived chan struct{}
	// notices are what the application's hook has yet to be told.
	notices []notice

	// life ends with Close, and so does all that runs without a caller, which is the work.
	life   context.Context
	end    context.CancelCauseFunc
	work   sync.WaitGroup
	once   sync.Once
	result error
}

// releasesAtOnce bounds how many locks are released side by side by Close.
const releasesAtOnce = 256

// New returns a client on the connection, which stays the caller's and may be shared with anything
// else. It does not wait for anybody: that a deployment is not there is noticed by the first call.
// [Client.Close] ends it.
//
// It is [ErrInvalid] if an option breaks a rule. Any other error is the connection's.
func New(nc *nats.Conn, opts ...Option) (*Client, error) {
	cfg := config{prefix: messages.DefaultPrefix, timeout: DefaultTimeout}
	for _, o := range opts {
		if err := o(&cfg); err != nil {
			return nil, fmt.Errorf("holdfast: %w", err)
		}
	}
	c := &Client{
		nc:         nc,
		cfg:        cfg,
		owner:      newOwner(),
		born:       time.Now(),
		inbox:      nc.NewInbox() + ".",
		tries:      make(map[uint64]*try),
		holds:      make(map[messages.Claim]*hold),
		shared:     make(map[party]*hold),
		revived:    make(chan struct{}),
		discovered: make(chan struct{}),
	}
	c.life, c.end = context.WithCancelCause(context.Background())
	var err error
	if c.answers, err = nc.Subscribe(c.inbox+"*", c.route); err != nil {
		return nil, fmt.Errorf("holdfast: listen for answers: %w", err)
	}
	c.status = nc.StatusChanged(nats.CONNECTED)
	c.work.Go(c.watchConnection)
	c.work.Go(c.discover)
	return c, nil
}

// Close releases all locks that are still held, and ends the client: calls under way and later ones
// return [ErrClosed]. It returns when nothing of it runs any more, or with the context's error when
// that ends earlier; then leases may be left to run out. The connection stays open. To call it again is
// safe.
func (c *Client) Close(ctx context.Context) error {
	c.once.Do(func() { c.result = c.close(ctx) })
	return c.result
}

func (c *Client) close(ctx context.Context) error {
	err := c.releaseAll(ctx)
	c.mu.Lock() // nothing begins after this
	c.end(ErrClosed)
	c.mu.Unlock()
	c.nc.RemoveStatusListener(c.status)
	c.work.Wait()
	if failure := c.answers.Unsubscribe(); failure != nil && !errors.Is(failure, nats.ErrConnectionClosed) {
		err = errors.Join(err, failure)
	}
	return err
}

// releaseAll lets go of everything at once and waits for the answers.
func (c *Client) releaseAll(ctx context.Context) error {
	holds := c.held()
	errs := make([]error, len(holds))
	var next atomic.Int64
	var group sync.WaitGroup
	for range min(releasesAtOnce, len(holds)) {
		group.Go(func() {
			for i := next.Add(1) - 1; i < int64(len(holds)); i = next.Add(1) - 1 {
				errs[i] = holds[i].release(ctx)
			}
		})
	}
	group.Wait()
	return errors.Join(errs...)
}

func (c *Client) held() []*hold {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Collect(maps.Values(c.holds))
}

// background runs f without a caller, if the client still lives.
func (c *Client) background(f func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.life.Err() == nil {
		c.work.Go(f)
	}
}

// watchConnection tells all who wait when the connection is there again, since what they asked may
// have been lost with the last one.
func (c *Client) watchConnection() {
	for {
		select {
		case _, ok := <-c.status:
			if !ok {
				return
			}
			c.revive()
		case <-c.life.Done():
			return
		}
	}
}

func (c *Client) revive() {
	c.mu.Lock()
	close(c.revived)
	c.revived = make(chan struct{})
	c.mu.Unlock()
	for _, h := range c.held() {
		h.revive()
	}
}

// discover finds out how many shards there are, so that requests can take the direct door. Until then,
// and if nobody tells, they take the front door.
func (c *Client) discover() {
	for c.life.Err() == nil {
		if info, err := c.Info(c.life); err == nil {
			c.deployment.Store(info)
			close(c.discovered)
			return
		}
		select {
		case <-time.After(c.cfg.timeout):
		case <-c.life.Done():
		}
	}
}

// awaitDiscovery lets the first calls wait a little for what the deployment tells about itself.
func (c *Client) awaitDiscovery(ctx context.Context) {
	if c.deployment.Load() != nil {
		return
	}
	timer := time.NewTimer(firstResend)
	defer timer.Stop()
	select {
	case <-c.discovered:
	case <-timer.C:
	case <-ctx.Done():
	case <-c.life.Done():
	}
}

// maxWait is the longest wait that the deployment allows, the contract's until it has told.
func (c *Client) maxWait() time.Duration {
	if known := c.deployment.Load(); known != nil && known.Limits.MaxWait > 0 {
		return known.Limits.MaxWait
	}
	return millis(messages.MaxWaitMillis)
}
