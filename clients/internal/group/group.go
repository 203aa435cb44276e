// Package group counts goroutines and calls, so that their owner can wait for them.
package group

import (
	"context"
	"sync"
)

// Group is the goroutines that an object runs without a caller, and the calls that may leave work to
// them. It differs from [sync.WaitGroup] in two ways: it can be closed to new members, and a wait ends
// with a context. The zero Group is open and empty. It is safe for concurrent use.
type Group struct {
	mu      sync.Mutex
	running int
	closed  bool
	waiting []chan struct{}
}

// Go runs f on a goroutine and returns true. It returns false, and does not run f, if the group is closed.
func (g *Group) Go(f func()) bool {
	if !g.Join() {
		return false
	}
	go func() {
		defer g.Leave()
		f()
	}()
	return true
}

// Join adds one member until [Group.Leave]. It returns false if the group is closed.
func (g *Group) Join() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed {
		return false
	}
	g.running++
	return true
}

// Leave removes one member.
func (g *Group) Leave() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.running--
	g.wake()
}

// Close lets no new members in. Present members stay.
func (g *Group) Close() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.closed = true
}

// Wait waits until the group is empty, and returns true. It returns false if ctx ends earlier.
func (g *Group) Wait(ctx context.Context) bool {
	idle := g.Idle()
	select {
	case <-idle:
		return true
	default:
	}
	select {
	case <-idle:
		return true
	case <-ctx.Done():
		return false
	}
}

// Idle returns a channel that is closed as soon as the group is empty.
func (g *Group) Idle() <-chan struct{} {
	g.mu.Lock()
	defer g.mu.Unlock()
	idle := make(chan struct{})
	g.waiting = append(g.waiting, idle)
	g.wake()
	return idle
}

// wake is called with mu held.
func (g *Group) wake() {
	if g.running > 0 {
		return
	}
	for _, idle := range g.waiting {
		close(idle)
	}
	g.waiting = nil
}
