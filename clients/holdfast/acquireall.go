package holdfast

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/holdfast-io/holdfast/messages"
)

// maxResources bounds how many locks are acquired together.
const maxResources = 1000

// AcquireAll locks several resources, at most 1 000, all of them or none. The order of the names does not matter, and a
// name that is given twice counts once. The options apply to each of the locks, [Cached] excepted: a lease that is
// cached is returned first. [MaxWait] and the context bound the wait for all of them together. MaxWait(0) does not wait, as [Client.TryAcquire].
//
// First it asks for all of them at once, without waiting. If one is not free, it releases the others, and acquires them
// one after another, each from the queue of its resource, in the order of their keys. This order is the same for all
// callers. So calls of AcquireAll never wait for one another in a circle, unless the caller holds a lock already: to
// acquire a further one, release the set, and acquire all of them.
//
// When it returns an error, nothing is held, and [Error.Resource] says which lock could not be had. The errors are
// those of [Client.Acquire], and [ErrLost] if a lock was lost while others were waited for.
func (c *Client) AcquireAll(ctx context.Context, resources []string, opts ...AcquireOption) (*Locks, error) {
	if err := checkContext(ctx, messages.OpAcquire, ""); err != nil {
		return nil, err
	}
	ordered, err := inOrder(resources)
	if err != nil {
		return nil, err
	}
	a := &acquisitionOfAll{c: c, options: *c.cfg.acquireOptions(opts), resources: ordered, begun: time.Now()}
	if err := a.options.uncached("AcquireAll"); err != nil {
		return nil, invalid(messages.OpAcquire, "", err)
	}
	if len(ordered) > 1 {
		s, err := a.atOnce(ctx)
		if s != nil || !a.mayWait(err) {
			return s, err
		}
	}
	return a.inTurn(ctx)
}

// DoAll is [Client.Do] under several locks, acquired by [Client.AcquireAll]. The context of work ends when one of the
// locks is lost. It carries no token of these locks, since each has its own: see [Locks.Claim].
func (c *Client) DoAll(ctx context.Context, resources []string, work func(context.Context, *Locks) error,
	opts ...AcquireOption) (err error) {
	if work == nil {
		return invalid(messages.OpAcquire, "", noWork)
	}
	s, err := c.AcquireAll(ctx, resources, opts...)
	if err != nil {
		return err
	}
	under, cancel := context.WithCancelCause(ctx)
	s.alsoCancel(cancel)
	defer releaseAfter(ctx, s, &err)
	return work(under, s)
}

// acquisitionOfAll is one call of AcquireAll.
type acquisitionOfAll struct {
	c         *Client
	options   acquireOptions
	resources []string // in the order of their keys
	begun     time.Time
}

// inOrder returns the resources in the order of their keys, each once.
func inOrder(resources []string) ([]string, error) {
	byKey := make(map[string]string, len(resources))
	for _, r := range resources {
		name := messages.NormalizeResource(r)
		key, err := messages.EncodeKey(name)
		if err != nil {
			return nil, invalid(messages.OpAcquire, name, err)
		}
		byKey[key] = name
	}
	if n := len(byKey); n < 1 || n > maxResources {
		return nil, invalid(messages.OpAcquire, "",
			rule("resources", "1 to "+strconv.Itoa(maxResources)+" names", strconv.Itoa(n)))
	}
	ordered := make([]string, 0, len(byKey))
	for _, key := range slices.Sorted(maps.Keys(byKey)) {
		ordered = append(ordered, byKey[key])
	}
	return ordered, nil
}

// atOnce asks for all locks concurrently, without waiting. If some are refused, it releases the others, and returns the
// first refusal in the order of the resources. One that ends the acquisition comes before those after which the caller
// may wait.
func (a *acquisitionOfAll) atOnce(ctx context.Context) (*Locks, error) {
	o := a.options
	if a.waits() {
		o.maxWait, o.bounded = 0, true
	}
	locks := make([]*Lock, len(a.resources))
	errs := make([]error, len(a.resources))
	concurrently(len(locks), func(i int) {
		own := o
		locks[i], errs[i] = a.c.acquire(ctx, a.resources[i], &own, a.begun)
	})
	errs = slices.DeleteFunc(errs, func(err error) bool { return err == nil })
	if len(errs) == 0 {
		return newLocks(ctx, a.c, locks), nil
	}
	a.release(ctx, slices.DeleteFunc(locks, func(l *Lock) bool { return l == nil }))
	if i := slices.IndexFunc(errs, func(err error) bool { return !a.mayWait(err) }); i >= 0 {
		return nil, errs[i]
	}
	return nil, errs[0]
}

// waits reports whether the caller waits for locks that are held.
func (a *acquisitionOfAll) waits() bool { return !a.options.bounded || a.options.maxWait > 0 }

// mayWait reports whether the caller waits after such a refusal.
func (a *acquisitionOfAll) mayWait(err error) bool {
	later := errors.Is(err, ErrHeld) || errors.Is(err, ErrUnavailable) || errors.Is(err, ErrUnknown)
	return later && a.waits()
}

// inTurn acquires the locks one after another. The wait ends when one that is held already is lost.
func (a *acquisitionOfAll) inTurn(ctx context.Context) (*Locks, error) {
	waiting, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	locks := make([]*Lock, 0, len(a.resources))
	for _, resource := range a.resources {
		own := a.options
		l, err := a.c.acquire(waiting, resource, &own, a.begun)
		if err == nil {
			locks = append(locks, l)
			l.alsoCancel(stop)
		}
		if cause := context.Cause(waiting); ctx.Err() == nil && errors.Is(cause, ErrLost) {
			err = cause
		}
		if err != nil {
			a.release(ctx, locks)
			return nil, err
		}
	}
	return newLocks(ctx, a.c, locks), nil
}

// release gives back what was acquired of a set that is not complete, without the rest of a shortest hold. If ctx has
// ended, it does not wait for the answers. An error would hide why the set is not complete; the lease then runs out.
func (a *acquisitionOfAll) release(ctx context.Context, locks []*Lock) {
	_ = each(locks, func(l *Lock) error {
		l.h.forget()
		return l.releaseOnce(ctx)
	})
}
