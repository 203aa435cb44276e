package register

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/holdfast-io/holdfast/clients/holdfast"
	"github.com/holdfast-io/holdfast/integration/linear"
)

// Config says what to run. Connect, Dir and TTL must be set.
type Config struct {
	// Connect returns a connection to the service for one worker, who closes it.
	Connect func() (*nats.Conn, error)
	// Account is that of the workers if it is a tenant with verified owners; empty: it is none. Read returns a
	// connection that may read the journals; nil: each may.
	Account string
	Read    func() (*nats.Conn, error)
	// Dir is an empty folder for the register.
	Dir string
	// Unguarded leaves the guard out. Then updates are lost, and that is no error.
	Unguarded bool
	// TTL of the leases. Workers are paused for up to twice as long, and do not renew.
	TTL time.Duration
	// Workers, 0 for 8, share Counters, 0 for 2, each with a lock of its own. Cached: every third worker retains its
	// leases, which all nodes have to offer.
	Workers, Counters int
	Cached            bool
	// Enough is asked after every write how many were accepted so far and how many refused as stale, and
	// ends the run with true, before its context does. It may be called concurrently. nil: never.
	Enough func(accepted, stale int64) bool
	// Log gets a line for every access to a counter, one at a time; nil: there is none.
	Log io.Writer
	// Name begins the names of the locks, which must be new to the service; empty for "register". The service must keep
	// its whole journals for as long as the run lasts.
	Name string
	// Seed is what the workers' dice begin with.
	Seed uint64
}

const (
	defaultWorkers  = 8
	defaultCounters = 2
	defaultName     = "register"
	// settleTimeout bounds what there is to do when the workers have ended.
	settleTimeout = 30 * time.Second
	// mostWrongs is how many violations are shown.
	mostWrongs = 20
)

func (c Config) withDefaults() Config {
	if c.Workers == 0 {
		c.Workers = defaultWorkers
	}
	if c.Counters == 0 {
		c.Counters = defaultCounters
	}
	if c.Name == "" {
		c.Name = defaultName
	}
	if c.Read == nil {
		c.Read = c.Connect
	}
	if c.Log == nil {
		c.Log = io.Discard
	}
	return c
}

func (c Config) resources() (names []string) {
	for i := range c.Counters {
		names = append(names, fmt.Sprintf("%s.%d", c.Name, i))
	}
	return names
}

// ErrViolated is what [Run] returns if a promise was broken; its text says which.
var ErrViolated = errors.New("the register was written by a worker that did not hold the lock")

// run is what the parts of one run share.
type run struct {
	cfg  Config
	shop *shop
	end  context.CancelFunc

	mu     sync.Mutex
	counts Counts
	wrongs []error
	errs   []error
}

// Run lets workers increment counters until ctx ends, or there is enough, and returns what came of it. The error is
// [ErrViolated] if a promise was broken, else what kept it from being tried. A service that is away for
// a while is no error; that too little happened is for the caller to judge.
func Run(ctx context.Context, cfg Config) (Report, error) {
	r := &run{cfg: cfg.withDefaults()}
	var err error
	if r.shop, err = openShop(r.cfg, r.wrong, r.written); err != nil {
		return Report{}, err
	}
	err = r.serve(ctx)
	rep := r.report()
	if lost := rep.Acknowledged - rep.Value; lost != 0 && !cfg.Unguarded {
		r.wrong("%d increments were acknowledged, and the counters say %d", rep.Acknowledged, rep.Value)
	}
	if len(r.wrongs) > 0 && !cfg.Unguarded {
		err = errors.Join(append([]error{ErrViolated, err}, r.wrongs...)...)
	}
	return rep, errors.Join(err, r.shop.close())
}

// serve has the register served while the workers work.
func (r *run) serve(ctx context.Context) error {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	server := &http.Server{Handler: r.shop.handler(), ReadHeaderTimeout: answerTimeout}
	var serving sync.WaitGroup
	serving.Go(func() { _ = server.Serve(l) }) // it ends with Close
	defer serving.Wait()
	defer func() { _ = server.Close() }()
	ctx, r.end = context.WithCancel(ctx)
	defer r.end()
	return r.work(ctx, "http://"+l.Addr().String())
}

// work lets the workers work until ctx ends, and then looks up to whom the service granted the locks.
func (r *run) work(ctx context.Context, url string) error {
	var workers sync.WaitGroup
	for i := range r.cfg.Workers {
		one := Worker{
			Connect: r.cfg.Connect, URL: url, Resources: r.cfg.resources(),
			Name: linear.OwnerOf(r.cfg.Account, fmt.Sprintf("worker%d", i)),
			TTL:  r.cfg.TTL, Cached: r.cfg.Cached && i%3 == 0, Seed: r.cfg.Seed + uint64(i),
		}
		workers.Go(func() { r.employ(ctx, one) })
	}
	workers.Wait()
	return errors.Join(append(r.errs, r.checkTokens())...)
}

// employ lets one worker work until ctx ends.
func (r *run) employ(ctx context.Context, w Worker) {
	counts, err := w.Work(ctx)
	if err != nil {
		r.failed(err)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.counts.add(counts)
}

// newClient returns a client on a connection of its own, and what ends both.
func newClient(connect func() (*nats.Conn, error)) (c *holdfast.Client, leave func(), err error) {
	nc, err := connect()
	if err != nil {
		return nil, nil, err
	}
	c, err = holdfast.New(nc)
	if err != nil {
		nc.Close()
		return nil, nil, err
	}
	return c, func() {
		ctx, cancel := context.WithTimeout(context.Background(), settleTimeout)
		defer cancel()
		_ = c.Close(ctx) // what is left runs out
		nc.Close()
	}, nil
}

// written ends the run when enough has happened.
func (r *run) written() {
	if r.cfg.Enough != nil && r.cfg.Enough(r.shop.writes.Load(), r.shop.staleWrites.Load()) {
		r.end()
	}
}

// wrong notes a broken promise.
func (r *run) wrong(format string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.wrongs) < mostWrongs {
		r.wrongs = append(r.wrongs, fmt.Errorf(format, args...))
	}
}

// failed notes what keeps the run from going on.
func (r *run) failed(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.errs = append(r.errs, err)
	r.end()
}
