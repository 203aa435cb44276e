package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"golang.org/x/sys/unix"

	"github.com/holdfast-io/holdfast/clients/holdfast"
)

// held is what was acquired: a lock, several or a leadership.
type held interface {
	Valid() bool
	Context() context.Context
	// Lost is closed when it is lost.
	Lost() <-chan struct{}
	Release(ctx context.Context) error
}

// fenced has what a driver shows of a lock.
type fenced interface{ Token() holdfast.Token }

func (d *driver) acquire(ctx context.Context, c *command) (object, error) {
	client, err := find(d, d.clients, "client", c.Client)
	if err != nil {
		return nil, err
	}
	l, err := client.Acquire(ctx, c.Name, c.options()...)
	at := now()
	if err != nil {
		return nil, err
	}
	d.adopt(c.Lock, l)
	slots := l.Slots()
	if slots == nil {
		slots = []int{}
	}
	return object{"token": tokenOf(l), "fence": l.Token().String(), "owner": l.Owner(), "slots": slots, "at_ns": at}, nil
}

// adopt names what was acquired, and writes a note when it is lost.
func (d *driver) adopt(name string, h held) {
	put(d, d.locks, name, h)
	go d.noteLoss(name, h)
}

// noteLoss writes a note when the lock is lost.
func (d *driver) noteLoss(name string, h held) {
	<-h.Lost()
	at := now()
	d.write(object{"note": "lost", "lock": name, "reason": reason(context.Cause(h.Context())), "at_ns": at})
}

func (d *driver) release(ctx context.Context, c *command) (object, error) {
	h, err := find(d, d.locks, "lock", c.Lock)
	if err != nil {
		return nil, err
	}
	at := now()
	return object{"at_ns": at}, h.Release(ctx)
}

func (d *driver) extend(ctx context.Context, c *command) (object, error) {
	h, err := find(d, d.locks, "lock", c.Lock)
	if err != nil {
		return nil, err
	}
	if c.TTL == nil {
		return nil, errors.New("extend needs ttl_ms")
	}
	e, ok := h.(interface {
		Extend(ctx context.Context, ttl time.Duration) error
	})
	if !ok {
		return nil, errors.New("a leadership has no extend")
	}
	return nil, e.Extend(ctx, millis(*c.TTL))
}

func (d *driver) set(ctx context.Context, c *command) (object, error) {
	l, err := d.lock(c)
	if err != nil {
		return nil, err
	}
	return nil, l.Set(ctx, c.Metadata)
}

func (d *driver) wanted(ctx context.Context, c *command) (object, error) {
	l, err := d.lock(c)
	if err != nil {
		return nil, err
	}
	under := l.Context()
	select {
	case <-l.Wanted():
		return nil, nil
	case <-under.Done():
		return nil, context.Cause(under)
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// lock returns a single lock.
func (d *driver) lock(c *command) (*holdfast.Lock, error) {
	h, err := find(d, d.locks, "lock", c.Lock)
	if err != nil {
		return nil, err
	}
	l, ok := h.(*holdfast.Lock)
	if !ok {
		return nil, fmt.Errorf("%q is no single lock", c.Lock)
	}
	return l, nil
}

func (d *driver) state(_ context.Context, c *command) (object, error) {
	h, err := find(d, d.locks, "lock", c.Lock)
	if err != nil {
		return nil, err
	}
	s := object{"valid": h.Valid(), "lost": false}
	if f, ok := h.(fenced); ok {
		s["token"], s["fence"] = tokenOf(f), f.Token().String()
	}
	select {
	case <-h.Lost():
		s["lost"], s["reason"] = true, reason(context.Cause(h.Context()))
	default:
	}
	return s, nil
}

// errCancelled ends the work of a scoped form whose context has ended.
var errCancelled = errors.New("the work was ended")

func (d *driver) within(ctx context.Context, c *command) (object, error) {
	client, err := find(d, d.clients, "client", c.Client)
	if err != nil {
		return nil, err
	}
	done := false
	err = client.Do(ctx, c.Name, func(ctx context.Context, l *holdfast.Lock) error {
		d.adopt(c.Lock, l)
		return c.work(ctx, &done)
	}, c.options()...)
	return object{"done": done}, err
}

// work takes its time, unless the context ends before.
func (c *command) work(ctx context.Context, done *bool) error {
	work := time.NewTimer(millis(c.Millis))
	defer work.Stop()
	select {
	case <-work.C:
		*done = true
		return nil
	case <-ctx.Done():
		return fmt.Errorf("%w: %w", errCancelled, context.Cause(ctx))
	}
}

// tokenOf returns the token of the lease, which for a shared one is not the fence.
func tokenOf(f fenced) string {
	if l, ok := f.(*holdfast.Lock); ok && len(l.Slots()) > 0 {
		if claim, err := l.SlotClaim(0); err == nil {
			return decimal(claim.Token)
		}
	}
	return decimal(f.Token())
}

// now returns the time of CLOCK_MONOTONIC in nanoseconds.
func now() string {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &t); err != nil {
		panic(err)
	}
	return strconv.FormatInt(t.Nano(), 10)
}
