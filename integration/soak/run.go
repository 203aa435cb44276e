package soak

import (
	"context"
	"errors"
	"fmt"
	"math"
	"sort"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/holdfast-io/holdfast/actors"
	"github.com/holdfast-io/holdfast/integration/linear"
	"github.com/holdfast-io/holdfast/integration/stand"
	"github.com/holdfast-io/holdfast/messages"
)

// config is what a run is made of.
type config struct {
	seed   uint64
	length time.Duration
	// account is that of the clients if it is a tenant with verified owners; empty: it is none.
	account string
	clients int
	// processes are how many connections the clients share.
	processes int
	resources int
	shards    uint32
	// crashEvery is how long a process lives on average, restartEvery how long the node does.
	crashEvery, restartEvery time.Duration
	tuning                   actors.Tuning
}

const (
	// silence is how much longer than it was to wait an answer may take while the connection lasts.
	silence = 8 * time.Second
	// giveUp is how old a request may become through all restarts.
	giveUp = 60 * time.Second
	// retryLeast and retryMost are what lies between two tries of the same request.
	retryLeast, retryMost = 10 * time.Millisecond, 80 * time.Millisecond
)

// run is one run: what all its parts share.
type run struct {
	cfg config
	clock
	address   *address
	resources []*resource
	hot, cold []*resource
	// spare are for the probes at the end.
	spare []*resource
	tally

	cancel context.CancelCauseFunc
	once   sync.Once
	stop   atomic.Bool

	mu       sync.Mutex
	restarts []restart
}

// errViolated is why a run ends early. The report is in its text.
var errViolated = errors.New("violated")

func newRun(cfg config, cancel context.CancelCauseFunc) (*run, error) {
	r := &run{cfg: cfg, clock: newClock(), address: newAddress(), cancel: cancel}
	// Names of every kind, and of every shard.
	forms := []string{"soak.hot.%d", "soak/cold %d", "soak.café.%d", "soak:%d*", "soak🔒%d", ".soak..%d"}
	for i := range cfg.resources {
		hot := i < cfg.resources/32+3
		res, err := newResource(r, fmt.Sprintf(forms[i%len(forms)], i),
			[]class{persistent, persistent, ephemeral, mixed}[i%4], hot)
		if err != nil {
			return nil, err
		}
		res.shared = i%4 == 1 || i%8 >= 6
		r.resources = append(r.resources, res)
		if hot {
			r.hot = append(r.hot, res)
		} else {
			r.cold = append(r.cold, res)
		}
	}
	for i := range spare + 1 {
		res, err := newResource(r, fmt.Sprintf("soak.spare.%d", i), persistent, false)
		if err != nil {
			return nil, err
		}
		r.spare = append(r.spare, res)
	}
	return r, nil
}

// index returns all resources by their names, those of the probes too.
func (r *run) index() map[string]*resource {
	index := make(map[string]*resource, len(r.resources))
	for _, res := range append(r.spare, r.resources...) {
		index[messages.Qualify(r.cfg.account, res.name)] = res
	}
	return index
}

// owner returns the name of an owner in the account of the clients.
func (r *run) owner(name string) string { return linear.OwnerOf(r.cfg.account, name) }

// login returns how clients log in.
func (r *run) login(nc *nats.Options) error {
	if r.cfg.account == "" {
		return nil
	}
	return stand.AsTenant()(nc)
}

// violated ends the run with a report. Only the first one counts.
func (r *run) violated(format string, args ...any) {
	r.once.Do(func() { r.cancel(fmt.Errorf("%w at %v: %s", errViolated, r.now(), fmt.Sprintf(format, args...))) })
}

func (r *run) after(d time.Duration) <-chan time.Time { return time.After(d) }

func (r *run) stopping() bool { return r.stop.Load() }

// restart is a restart of the node: the old one still answers for a while after it has begun.
type restart struct{ begun, done instant }

// never is after all there is.
const never instant = math.MaxInt64

// restarting notes that the node is about to be restarted, restarted that it was.
func (r *run) restarting() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.restarts = append(r.restarts, restart{begun: r.now(), done: never})
}

func (r *run) restarted() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.restarts[len(r.restarts)-1].done = r.now()
}

// restartAfter returns when the first restart began that was not done at an instant: what was granted
// then may be gone with it.
func (r *run) restartAfter(at instant) instant {
	r.mu.Lock()
	defer r.mu.Unlock()
	i := sort.Search(len(r.restarts), func(i int) bool { return r.restarts[i].done > at })
	if i < len(r.restarts) {
		return r.restarts[i].begun
	}
	return never
}

// tally counts what has happened.
type tally struct {
	answers [9][int(messages.Status_UPDATED) + 1]atomic.Int64

	lives                                                           atomic.Uint64
	crashes, vanished, repeats, retries, handOvers, keeps, volatile atomic.Int64
	windows, ordered, matched                                       atomic.Int64
	// shared are grants beside which others may be held, together hold windows beside others.
	shared, together atomic.Int64
	// lateEnded and lateWithdrawn are copies of requests that were over, judged.
	lateEnded, lateWithdrawn atomic.Int64
}
