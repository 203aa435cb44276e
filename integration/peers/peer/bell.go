package peer

import (
	"context"
	"sync"
	"time"
)

// lostRing bounds the wait of a session whose ring was lost.
const lostRing = time.Second

// bell wakes the sessions that wait for a resource of a service without queues: one for each notice that the resource
// is free, the longest waiting first. The sessions that share a connection share a bell, as those of a process do.
type bell struct {
	mu      sync.Mutex
	waiting map[string][]chan struct{}
}

func newBell() *bell { return &bell{waiting: make(map[string][]chan struct{})} }

// await calls try until it returns true or an error: at once, and whenever the session is woken. A session waits
// before it tries, so that it misses no notice.
func (b *bell) await(ctx context.Context, resource string, try func() (bool, error)) error {
	ctx, cancel := context.WithTimeout(ctx, longestWait)
	defer cancel()
	for {
		rung := b.enter(resource)
		if done, err := try(); done || err != nil {
			b.leave(resource, rung)
			return err
		}
		timer := time.NewTimer(lostRing)
		select {
		case <-rung:
		case <-timer.C:
			b.leave(resource, rung)
		case <-ctx.Done():
			timer.Stop()
			b.leave(resource, rung)
			return context.Cause(ctx)
		}
		timer.Stop()
	}
}

func (b *bell) enter(resource string) chan struct{} {
	b.mu.Lock()
	defer b.mu.Unlock()
	rung := make(chan struct{})
	b.waiting[resource] = append(b.waiting[resource], rung)
	return rung
}

func (b *bell) leave(resource string, rung chan struct{}) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for i, one := range b.waiting[resource] {
		if one == rung {
			b.waiting[resource] = append(b.waiting[resource][:i], b.waiting[resource][i+1:]...)
			return
		}
	}
}

func (b *bell) ring(resource string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if waiting := b.waiting[resource]; len(waiting) > 0 {
		close(waiting[0])
		b.waiting[resource] = waiting[1:]
	}
}
