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

// held is a lock that was acquired.
type held struct{ *holdfast.Lock }

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
	h := &held{l}
	put(d, d.locks, c.Lock, h)
	go d.noteLoss(c.Lock, h)
	slots := l.Slots()
	if slots == nil {
		slots = []int{}
	}
	return object{"token": h.token(), "fence": h.fence(), "owner": l.Owner(), "slots": slots, "at_ns": at}, nil
}

// noteLoss writes a note when the lock is lost.
func (d *driver) noteLoss(name string, h *held) {
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
	return nil, h.Extend(ctx, millis(*c.TTL))
}

func (d *driver) set(ctx context.Context, c *command) (object, error) {
	h, err := find(d, d.locks, "lock", c.Lock)
	if err != nil {
		return nil, err
	}
	return nil, h.Set(ctx, c.Metadata)
}

func (d *driver) wanted(ctx context.Context, c *command) (object, error) {
	h, err := find(d, d.locks, "lock", c.Lock)
	if err != nil {
		return nil, err
	}
	under := h.Context()
	select {
	case <-h.Wanted():
		return nil, nil
	case <-under.Done():
		return nil, context.Cause(under)
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (d *driver) state(_ context.Context, c *command) (object, error) {
	h, err := find(d, d.locks, "lock", c.Lock)
	if err != nil {
		return nil, err
	}
	s := object{"valid": h.Valid(), "lost": false, "token": h.token(), "fence": h.fence()}
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
		h := &held{l}
		put(d, d.locks, c.Lock, h)
		go d.noteLoss(c.Lock, h)
		work := time.NewTimer(millis(c.Millis))
		defer work.Stop()
		select {
		case <-work.C:
			done = true
			return nil
		case <-ctx.Done():
			return fmt.Errorf("%w: %w", errCancelled, context.Cause(ctx))
		}
	}, c.options()...)
	return object{"done": done}, err
}

// token returns the token of the lease, which for a shared one is not the fence.
func (h *held) token() string {
	if len(h.Slots()) > 0 {
		if claim, err := h.SlotClaim(0); err == nil {
			return decimal(claim.Token)
		}
	}
	return decimal(h.Token())
}

func (h *held) fence() string { return h.Token().String() }

// now returns the time of CLOCK_MONOTONIC in nanoseconds.
func now() string {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &t); err != nil {
		panic(err)
	}
	return strconv.FormatInt(t.Nano(), 10)
}
