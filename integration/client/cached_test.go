package client_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/holdfast-io/holdfast/clients/holdfast"
)

// marks are what protected resources have seen.
type marks struct {
	mu   sync.Mutex
	seen map[string]holdfast.Token
	used map[string]bool
}

// use fails the test unless the lock has a higher token than all before and nobody else has it.
func (m *marks) use(t *testing.T, l *holdfast.Lock) {
	t.Helper()
	m.mu.Lock()
	name := l.Resource()
	if m.used[name] || l.Token() <= m.seen[name] {
		t.Errorf("%v comes after token %v, in use: %v", l, m.seen[name], m.used[name])
	}
	m.used[name], m.seen[name] = true, l.Token()
	m.mu.Unlock()
	runtime.Gosched()
	m.mu.Lock()
	m.used[name] = false
	m.mu.Unlock()
}

// Two clients that cache the same resources have them in turns, under tokens that only grow, and so has one that takes
// all of them together.
func TestCachedLocksOfTwoClients(t *testing.T) {
	const workers, uses, names = 6, 200, 4
	var resources []string
	for i := range names {
		resources = append(resources, fmt.Sprint(t.Name(), i))
	}
	m := &marks{seen: map[string]holdfast.Token{}, used: map[string]bool{}}
	var group sync.WaitGroup
	var cached []*holdfast.Client
	for range 2 {
		c := newClient(t, url, holdfast.Defaults(holdfast.Cached(time.Minute)))
		cached = append(cached, c)
		for w := range workers {
			group.Go(func() {
				for i := range uses {
					err := c.Do(testContext(t), resources[(w+i)%names], func(_ context.Context, l *holdfast.Lock) error {
						m.use(t, l)
						return nil
					})
					if err != nil {
						t.Error(err)
						return
					}
				}
			})
		}
	}
	for range 10 {
		all := mustAcquireAll(t, cached[0], resources)
		for _, l := range all.All() {
			m.use(t, l)
		}
		if err := all.Release(testContext(t)); err != nil {
			t.Error(err)
		}
	}
	group.Wait()
	if n := cached[0].CacheStats().Uses + cached[1].CacheStats().Uses; n == 0 {
		t.Error("no lock had a cached lease")
	}
}

// What AcquireAll gives back of a set that is not complete is free at once, also if it has a shortest hold.
func TestAcquireAllOrNoneWithAShortestHold(t *testing.T) {
	c, other := newClient(t, url), newClient(t, url)
	names := named(t, "a", "b", "c")
	held := mustAcquire(t, other, names[1])
	for _, wait := range []time.Duration{0, 300 * time.Millisecond} {
		_, err := c.AcquireAll(testContext(t), names, holdfast.MinHold(time.Hour), holdfast.MaxWait(wait))
		if !errors.Is(err, holdfast.ErrHeld) && !errors.Is(err, holdfast.ErrTimeout) {
			t.Fatalf("with a wait of %v: %v", wait, err)
		}
		for _, name := range []string{names[0], names[2]} {
			if s := mustGet(t, other, name); s.Held || s.Lost != nil {
				t.Errorf("with a wait of %v %s is not free: %+v", wait, name, s)
			}
		}
	}
	mustRelease(t, held)
	all := mustAcquireAll(t, c, names, holdfast.MinHold(time.Hour))
	if err := all.Release(testContext(t)); err != nil {
		t.Error(err)
	}
	if s := mustGet(t, other, names[0]); s.Held || s.Lost == nil {
		t.Errorf("a lock that was held rests: %+v", s)
	}
}
