package hostile

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/holdfast-io/holdfast/cmd/holdfast/bench/load"
	"github.com/holdfast-io/holdfast/messages"
)

const (
	// workers lock and unlock, each on so many keys of its own, with leases of this TTL.
	workers, keysOfAWorker = 4, 25
	pairTTL                = time.Minute
	// pairTimeout is how long a worker waits for an answer.
	pairTimeout = 20 * time.Second
)

// pairs is a load of acquires and releases, each worker on resources of its own: the token of each grant is known
// before.
type pairs struct {
	server *target

	mu sync.Mutex
	// all are the resources by key, wrong is what was found.
	all   map[string]*pair
	wrong []string
	// done is how many pairs were completed, last when, and gap the longest time between two.
	done int64
	last time.Time
	gap  time.Duration
}

func newPairs(s *target) *pairs { return &pairs{server: s, all: make(map[string]*pair)} }

// run runs the load until ctx ends.
func (p *pairs) run(ctx context.Context) (*load.Result, error) {
	p.mu.Lock()
	p.last, p.gap = time.Now(), 0
	p.mu.Unlock()
	service := load.Service{Prefix: messages.DefaultPrefix, Shards: shards, Timeout: pairTimeout}
	nc := p.server.connect()
	defer nc.Close()
	return load.Run(ctx, load.Plan{Workers: workers, For: 24 * time.Hour}, func(n int) load.Work {
		client, next := load.NewClient(nc, service, fmt.Sprint("p", n, "-", p.count()), pairTTL), 0
		return func(ctx context.Context, m *load.Meter) error {
			next++
			key := fmt.Sprintf("pairs.%d.%d", n, next%keysOfAWorker)
			p.pair(ctx, m, client, key)
			return nil
		}
	})
}

// pair makes one pair. Failures are counted by the meter.
func (p *pairs) pair(ctx context.Context, m *load.Meter, c *load.Client, key string) {
	token := uint64(0)
	err := m.Time(messages.OpAcquire, func() (err error) {
		token, err = c.Acquire(ctx, key, pairTimeout)
		return err
	})
	if p.noted(key, token, err) {
		err = m.Time(messages.OpRelease, func() error { return c.Release(ctx, key, token) })
		p.released(err)
	}
}

// noted notes the outcome of an acquire, and reports whether it is held.
func (p *pairs) noted(key string, token uint64, err error) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.all[key] == nil {
		p.all[key] = &pair{}
	}
	if err != nil {
		p.all[key].doubt = true
		return false
	}
	if wrong := p.all[key].granted(key, token); wrong != "" {
		p.wrong = append(p.wrong, wrong)
	}
	return true
}

func (p *pairs) released(err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if err == nil {
		now := time.Now()
		p.done, p.gap, p.last = p.done+1, max(p.gap, now.Sub(p.last)), now
	}
}

func (p *pairs) count() int64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.done
}

// tokens returns the last acknowledged token of each resource.
func (p *pairs) tokens() map[string]uint64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	all := make(map[string]uint64, len(p.all))
	for key, one := range p.all {
		all[key] = one.token
	}
	return all
}

// summary is the load on one line.
func (p *pairs) summary(r *load.Result) string {
	p.mu.Lock()
	defer p.mu.Unlock()
	text := fmt.Sprintf("%.0f pairs/s, longest gap %v", r.Rate(messages.OpRelease), p.gap.Round(time.Millisecond))
	for _, op := range []messages.Operation{messages.OpAcquire, messages.OpRelease} {
		l := r.Latencies[op]
		text += fmt.Sprintf("; %s p50 %v, p99 %v", op, l.Quantile(0.5).Round(10*time.Microsecond),
			l.Quantile(0.99).Round(10*time.Microsecond))
	}
	var failures []string
	for f, n := range r.Failures {
		failures = append(failures, fmt.Sprintf("%s %s %d", f.Op, f.Code, n))
	}
	return text + "; failures: [" + strings.Join(failures, ", ") + "]"
}
