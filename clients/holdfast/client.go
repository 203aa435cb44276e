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
	detour     detour
	born       time.Time

	inbox   string
	answers *nats.Subscription
	status  chan nats.Status
	// posted wakes the goroutine that uses the connection. off is closed when the connection is closed or
	// begins to drain: no answer comes any more.
	posted, off chan struct{}
	// attendants are the goroutines that attend to the connection until Close returns.
	attendants crew
	// complaint is what the connection last said of its own accord.
	complaint atomic.Pointer[error]

	mu      sync.Mutex
	lastTry uint64
	tries   map[uint64]*try
	letters []letter
	holds   map[messages.Claim]*hold
	rounds  rounds
	// shared are the leases that a further lock may share, returned those that none may.
	shared   map[party]*hold
	returned map[party]*returned
	// revived is closed and replaced whenever the connection is there again.
	revived chan struct{}
	// notices are what the application's hook has yet to be told.
	notices []notice

	// life ends when Close is called, and all calls with it. duty ends when Close returns: until then
	// the client works on without a caller, to give back what nobody wants.
	life, duty   context.Context
	end, relieve context.CancelCauseFunc
	crew         crew
	chores       chores
	ends         *ends
	once         sync.Once
	result       error
}

// releasesAtOnce bounds how many locks are released side by side by Close.
const releasesAtOnce = 256

// New returns a client on the connection, which stays the caller's and may be shared with anything
// else. With several nodes it should know more than one of their addresses, and never give up
// (nats.MaxReconnects(-1)): when its node goes, NATS tries the other addresses at once, but the same one
// again only after its ReconnectWait, 2 s by default.
//
// New does not wait for anybody: that a deployment is not there is noticed by the first call.
// [Client.Close] ends the client.
//
// It is [ErrInvalid] if an option breaks a rule, or the connection is nil. Any other error is the connection's.
func New(nc *nats.Conn, opts ...Option) (*Client, error) {
	cfg := config{prefix: messages.DefaultPrefix, timeout: DefaultTimeout}
	if err := cfg.take(nc, opts); err != nil {
		return nil, fmt.Errorf("holdfast: %w", err)
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
		returned:   make(map[party]*returned),
		posted:     make(chan struct{}, 1),
		off:        make(chan struct{}),
		revived:    make(chan struct{}),
		discovered: make(chan struct{}),
	}
	c.life, c.end = context.WithCancelCause(context.Background())
	c.duty, c.relieve = context.WithCancelCause(context.Background())
	var err error
	if c.answers, err = nc.Subscribe(c.inbox+"*", c.route); err != nil {
		return nil, fmt.Errorf("holdfast: listen for answers: %w", err)
	}
	c.status = nc.StatusChanged(nats.CONNECTED, nats.CLOSED, nats.DRAINING_SUBS)
	c.ends = newEnds(c)
	c.attendants.start(c.deliver)
	c.attendants.start(c.watchConnection)
	c.crew.start(c.discover)
	return c, nil
}

// Close ends all calls under way, with [ErrClosed], and releases all locks that are still held. It
// returns when nothing of the client runs any more, or with an error when the context ends earlier or
// answers do not come in the client's timeout, or before the leases have run out; then leases may be left to
// run out. The connection stays open. To call it again is safe.
//
// Call it before the connection is closed or drained. Afterwards nothing can be released: Close returns at
// once, with an error that is nats.ErrConnectionClosed if locks were held, and their leases run out.
//
// A context that has ended already does not count. A nil context is [ErrInvalid], and closes nothing.
func (c *Client) Close(ctx context.Context) error {
	if err := given(ctx, opClose, ""); err != nil {
		return err
	}
	if ctx.Err() != nil {
		ctx = context.WithoutCancel(ctx)
	}
	c.once.Do(func() { c.result = c.close(ctx) })
	return c.result
}

// opClose stands in errors.
const opClose messages.Operation = "close"

func (c *Client) close(ctx context.Context) error {
	c.mu.Lock() // no lock is registered after this
	c.end(ErrClosed)
	c.mu.Unlock()
	ctx, cancel := context.WithTimeoutCause(ctx, c.cfg.timeout, errPatience)
	defer cancel()
	return errors.Join(c.releaseAll(ctx), c.finishWork(ctx))
}

// finishWork waits for what the client does without a caller, and stops it when ctx ends.
func (c *Client) finishWork(ctx context.Context) error {
	err := c.crew.await(ctx)
	c.crew.dismiss()
	c.relieve(ErrClosed)
	if err == nil {
		err = errors.Join(c.crew.await(ctx), c.attendants.await(ctx)) // the crew: what began in between
	}
	if err != nil {
		return fmt.Errorf("holdfast: close: %w", err)
	}
	return nil
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

// watchConnection tells all who wait when the connection is there again, since what they asked may
// have been lost with the last one, and when it will not be there again.
func (c *Client) watchConnection() {
	for !c.nc.IsClosed() && !c.nc.IsDraining() {
		select {
		case _, ok := <-c.status:
			if ok {
				c.revive()
			}
		case <-c.duty.Done():
			return
		}
	}
	close(c.off)
}

// isOff reports whether the connection is closed or drains.
func (c *Client) isOff() bool {
	select {
	case <-c.off:
		return true
	default:
		return false
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
	c.ends.revive()
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
	left := min(messages.FirstResend, c.cfg.timeout/2) - time.Since(c.born)
	if c.deployment.Load() != nil || left <= 0 {
		return
	}
	timer := time.NewTimer(left)
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
