package client_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/holdfast-io/holdfast/clients/holdfast"
	"github.com/holdfast-io/holdfast/integration/stand"
)

// within returns a random time below a limit.
func within(dice *rand.Rand, limit time.Duration) time.Duration {
	return time.Duration(dice.Int64N(int64(limit)))
}

// soon returns a context that is cancelled at a random moment within so long.
func soon(tb testing.TB, limit time.Duration) context.Context {
	tb.Helper()
	ctx, cancel := context.WithCancel(tb.Context())
	timer := time.AfterFunc(within(stand.Dice(tb, 1)[0], limit), cancel)
	tb.Cleanup(func() {
		timer.Stop()
		cancel()
	})
	return ctx
}

// An Acquire that is cancelled while it is granted leaves nothing behind, whichever comes first.
func TestCancelRacesGrant(t *testing.T) {
	const resources, workers, turns = 4, 8, 150
	clients := []*holdfast.Client{newClient(t, url), newClient(t, url), newClient(t, url)}
	names := make([]string, resources)
	for i := range names {
		names[i] = fmt.Sprint(t.Name(), i)
	}
	for name, opts := range map[string][]holdfast.AcquireOption{
		"Persistent": nil, "Ephemeral": {holdfast.Ephemeral()}, "Reentrant": {holdfast.Reentrant()},
		"Shared": {holdfast.Shared()}, "Permits": {holdfast.Permits(2, 5)},
		"ReentrantPermits": {holdfast.Permits(1, 2), holdfast.Reentrant()},
	} {
		t.Run(name, func(t *testing.T) {
			var granted, cancelled atomic.Int64
			var group sync.WaitGroup
			for i, dice := range stand.Dice(t, workers) {
				group.Go(func() {
					// A busy machine may need more turns, and longer ones, until one is granted.
					for turn := 0; turn < turns || granted.Load() == 0 && turn < 10*turns; turn++ {
						after := within(dice, time.Millisecond<<dice.IntN(9+turn/turns))
						if acquireForAMoment(t, clients[i%len(clients)], names[dice.IntN(resources)], after, opts) {
							granted.Add(1)
						} else {
							cancelled.Add(1)
						}
					}
				})
			}
			group.Wait()
			t.Logf("%d granted, %d cancelled", granted.Load(), cancelled.Load())
			if granted.Load() == 0 || cancelled.Load() == 0 {
				t.Error("there was no race")
			}
			for _, name := range names {
				untilFree(t, clients[0], name)
			}
		})
	}
}

// acquireForAMoment reports whether it was granted before it was cancelled after a time.
func acquireForAMoment(t *testing.T, c *holdfast.Client, resource string, after time.Duration,
	opts []holdfast.AcquireOption) bool {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	timer := time.AfterFunc(after, cancel)
	defer timer.Stop()
	l, err := c.Acquire(ctx, resource, append(opts, holdfast.TTL(time.Hour))...)
	if err != nil {
		if !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
		return false
	}
	if err := l.Release(ctx); err != nil && !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	return true
}

// An Acquire without rivals that is cancelled while its request is on its way leaves nothing behind.
func TestCancelRacesRequest(t *testing.T) {
	c := newClient(t, url)
	names := make([]string, 400)
	var group sync.WaitGroup
	for i, dice := range stand.Dice(t, len(names)) {
		names[i] = fmt.Sprint(t.Name(), i)
		group.Go(func() { acquireForAMoment(t, c, names[i], within(dice, time.Millisecond<<dice.IntN(9)), nil) })
	}
	group.Wait()
	for _, name := range names {
		untilFree(t, c, name)
	}
}
