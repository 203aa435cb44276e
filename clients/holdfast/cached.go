package holdfast

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/holdfast-io/holdfast/clients/holdfast/internal/block"
	"github.com/holdfast-io/holdfast/clients/internal/clock"
	"github.com/holdfast-io/holdfast/clients/request"
	"github.com/holdfast-io/holdfast/messages"
)

// cached is a resource whose lease is used by one call after the other: from the request for the lease on until that is
// returned. Its state never goes back. Others find it in its shard until it is closing.
type cached struct {
	in   *cacheShard
	name string
	idle time.Duration
	// owner, ttl, ephemeral and metadata are the terms of the lease, which a call has to share to use it.
	owner     string
	ttl       time.Duration
	ephemeral bool
	metadata  map[string]string

	// mu guards what follows, and the handle of the lease.
	mu    sync.Mutex
	state cacheState
	// h is the handle of the lease, nil while it is asked for. Its locks are the use in being.
	h     *handle
	block block.Block
	// safe is a moment before which a use may begin, used when the last one has ended.
	safe, used time.Time
	// queue are the calls that wait, in the order in which they came.
	queue []*waiting
}

// cacheState is how far a cached lease has come.
type cacheState uint8

const (
	asking  cacheState = iota // the lease is asked for by one of the calls
	open                      // uses may begin
	closing                   // a use has not ended, and no other one begins
	over                      // the lease is returned, or has ended
)

// waiting is a call that waits for its turn.
type waiting struct {
	ctx  context.Context
	turn chan turn // has room for one
}

// turn is what a call gets that has waited: a lock, or lead: it asks for the lease, or neither: it asks for one apart.
type turn struct {
	lock *Lock
	lead bool
}

// fits reports whether a call may use the lease.
func (e *cached) fits(o *acquireOptions) bool {
	return o.idle > 0 && o.owner == e.owner && o.ttl == e.ttl && o.ephemeral == e.ephemeral &&
		maps.Equal(o.metadata, e.metadata)
}

// enter returns a lock, or what a call waits for, or why it is refused. again: the lease is not to be used any more.
// Otherwise the call asks for a lease apart.
func (e *cached) enter(ctx context.Context, o *acquireOptions) (l *Lock, w *waiting, again bool, err error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	tries, fits, certain := o.tries(), e.fits(o), true
	if e.state == open && !e.certain(clock.Now()) {
		certain = false // mutant: UseBehindTheEstimate
		e.h.look()
	}
	switch {
	case e.state > open: // mutant: UseAfterTheReturn
		return nil, nil, true, nil
	case ctx.Err() != nil || e.in.of.c.life.Err() != nil || e.state == asking && (tries || !fits):
		return nil, nil, false, nil
	case e.state == asking:
		return nil, e.wait(ctx), false, nil
	case !fits || !certain:
		e.close(false)
		return nil, nil, true, nil
	case len(e.h.locks) > 0 && tries:
		return nil, nil, false, &Error{Op: string(messages.OpAcquire), Resource: e.name, Err: ErrHeld,
			Holder: e.h.shown()}
	case len(e.h.locks) == 0 && len(e.queue) == 0:
		if l = e.use(ctx); l != nil {
			e.spend()
			return l, nil, false, nil
		}
	}
	return nil, e.wait(ctx), false, nil
}

// wait puts a call at the end of the queue.
func (e *cached) wait(ctx context.Context) *waiting {
	w := &waiting{ctx, make(chan turn, 1)}
	e.queue = append(e.queue, w)
	return w
}

// await waits for the turn of a call, for as long as that waits. One that does not wait for others is here until the
// lease has more tokens.
func (e *cached) await(ctx context.Context, w *waiting, o *acquireOptions, begun time.Time) (turn, error) {
	c, tries := e.in.of.c, o.tries()
	refusal := &Error{Op: string(messages.OpAcquire), Resource: e.name, Err: ErrTimeout}
	left := time.Until(begun.Add(o.maxWait))
	if tries {
		left = c.cfg.timeout
		refusal.Err, refusal.Cause = ErrUnavailable, request.ErrNoAnswer
	}
	var late <-chan time.Time
	if o.bounded {
		timer := time.NewTimer(left)
		defer timer.Stop()
		late = timer.C
	}
	select {
	case t := <-w.turn:
		return t, nil
	case <-late:
	case <-ctx.Done():
		refusal.Cause = request.ContextError(ctx)
		if !tries && errors.Is(refusal.Cause, context.Canceled) {
			refusal.Err, refusal.Cause = refusal.Cause, nil
		}
	case <-c.life.Done():
		refusal.Err, refusal.Cause = ErrClosed, nil
	}
	if e.leave(w) {
		return turn{}, refusal
	}
	return <-w.turn, nil // it had its turn in the same moment
}

// leave takes a call out of the queue. It returns false if the call has had its turn.
func (e *cached) leave(w *waiting) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	n := len(e.queue)
	e.queue = slices.DeleteFunc(e.queue, func(other *waiting) bool { return other == w })
	return len(e.queue) < n
}

// next has the first call of the queue ask for a lease: for that of all of them, if none has been granted.
func (e *cached) next() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.pass()
}

// asked receives that the call is over that has asked for the lease. If it was not granted one, the next call asks.
func (e *cached) asked() {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.state != asking {
		return
	}
	if len(e.queue) == 0 {
		e.state = over
		e.in.remove(e, false)
	}
	e.pass()
}

// offered receives the tokens of a lease that is granted.
func (e *cached) offered(first Token, tokens uint32) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.block = block.New(uint64(first), tokens)
}

// sweep returns a lease that was not used for its idle time, or when that will be.
func (e *cached) sweep(now time.Time) time.Time {
	e.mu.Lock()
	defer e.mu.Unlock()
	due := now.Add(e.idle)
	if e.state != open || len(e.h.locks) > 0 || len(e.queue) > 0 {
		return due
	}
	if due = e.used.Add(e.idle); !now.Before(due) {
		e.close(false)
	}
	return due
}

// end closes the lease, for Close.
func (e *cached) end() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.close(false)
}

// returned receives that the return of the lease is over.
func (e *cached) returned() { e.in.of.leases.Add(-1) }

// The following are called with mu held.

// pass gives the first call of the queue its turn to ask.
func (e *cached) pass() {
	if len(e.queue) > 0 {
		e.pop().turn <- turn{lead: e.state == asking}
	}
}

func (e *cached) pop() *waiting {
	w := e.queue[0]
	e.queue[0], e.queue = nil, e.queue[1:]
	return w
}

// open receives the lease, and returns its first use.
func (e *cached) open(ctx context.Context, h *handle) *Lock {
	e.h, e.state = h, open
	e.in.of.leases.Add(1)
	l := e.use(ctx)
	if h.isWanted {
		e.close(true)
	}
	return l
}

// certain reports whether a quarter of the time for which the lease lasts is left, so that a use may begin. If so, it is
// held.
func (e *cached) certain(now time.Time) bool {
	if !now.Before(e.safe) {
		e.safe = e.h.until().Add(-min(e.ttl, e.h.extensions.maxKnown) / 4)
	}
	return now.Before(e.safe)
}

// use begins a use, with the next token of the lease; nil: there is none yet.
func (e *cached) use(ctx context.Context) *Lock {
	token, ok := e.block.Take()
	if !ok {
		return nil
	}
	l := &Lock{h: e.h, parent: ctx, token: Token(token)}
	e.h.locks = append(e.h.locks, l)
	if n := e.block.Ask(); n > 0 {
		e.h.extensions.grow(n)
	}
	return l
}

// spend closes a lease that has no token left and gets no more.
func (e *cached) spend() {
	if e.block.Spent() {
		e.close(false)
	}
}

// free receives that the use has ended now.
func (e *cached) free(now time.Time) {
	e.used = now
	if e.state == closing {
		e.giveBack()
		return
	}
	e.serve(now)
}

// serve gives the first call of the queue its turn, if it may use the lease.
func (e *cached) serve(now time.Time) {
	if e.state != open || len(e.h.locks) > 0 || len(e.queue) == 0 {
		return
	}
	if !e.certain(now) {
		e.close(false)
		return
	}
	if l := e.use(e.queue[0].ctx); l != nil {
		e.pop().turn <- turn{lock: l}
		e.spend()
	}
}

// grown receives how many tokens the lease has.
func (e *cached) grown(tokens uint32) {
	e.block.Has(tokens)
	e.serve(clock.Now())
}

// ungrown receives that the lease gets no more tokens.
func (e *cached) ungrown() {
	e.block.Refuse()
	if e.state == open {
		e.spend()
	}
}

// close lets no use begin any more, and has the lease returned when none is left. The calls that wait ask for a lease
// by themselves, one behind the other. wanted: others want the resource.
func (e *cached) close(wanted bool) {
	if e.state != open {
		return
	}
	e.state = closing
	e.in.remove(e, wanted) // mutant: UseAfterTheReturn
	e.pass()
	if len(e.h.locks) == 0 { // mutant: ReturnInTheMiddleOfAUse
		e.giveBack()
	}
}

// giveBack returns the lease, and waits for nothing: whoever waits for an answer here could wait for another client that
// waits for this lease.
func (e *cached) giveBack() {
	e.state = over
	e.h.letGo().begin() // mutant: ReturnNeedsAPlace
}

// lost receives that a lease that was granted has ended.
func (e *cached) lost() {
	if e.state == open {
		e.in.remove(e, false)
		e.pass()
	}
	if e.state == open || e.state == closing {
		e.state = over
		e.in.of.leases.Add(-1)
	}
}
