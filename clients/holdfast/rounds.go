package holdfast

import (
	"sync"
	"time"
)

// rounds wake together the holds that are due at the same moment, which takes one timer and one
// goroutine for all of them. The zero rounds has none.
type rounds struct {
	mu   sync.Mutex
	next map[time.Duration]*round
}

// round is what is due at one moment, counted from the client's birth.
type round struct {
	at    time.Duration
	timer *time.Timer
	holds map[*hold]struct{}
}

// join lets a hold be renewed then, and not when it was to be before.
func (r *rounds) join(h *hold, at, left time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.remove(h)
	n := r.next[at]
	if n == nil {
		if r.next == nil {
			r.next = make(map[time.Duration]*round)
		}
		n = &round{at: at, holds: make(map[*hold]struct{}, 1)}
		n.timer = time.AfterFunc(left, func() { r.call(n) })
		r.next[at] = n
	}
	n.holds[h] = struct{}{}
	h.round = n
}

// leave ends the renewals of a hold.
func (r *rounds) leave(h *hold) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.remove(h)
}

// remove is called with mu held.
func (r *rounds) remove(h *hold) {
	n := h.round
	if n == nil {
		return
	}
	h.round = nil
	delete(n.holds, h)
	if len(n.holds) == 0 {
		n.timer.Stop()
		delete(r.next, n.at)
	}
}

func (r *rounds) call(n *round) {
	for h := range r.take(n) {
		h.renew()
	}
}

// take returns those who are still part of the round, which is over.
func (r *rounds) take(n *round) map[*hold]struct{} {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.next[n.at] != n {
		return nil
	}
	delete(r.next, n.at)
	for h := range n.holds {
		h.round = nil
	}
	return n.holds
}
