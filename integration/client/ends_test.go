package client_test

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/holdfast-io/holdfast/clients/holdfast"
	"github.com/holdfast-io/holdfast/integration/proxy"
	"github.com/holdfast-io/holdfast/integration/stand"
	"github.com/holdfast-io/holdfast/messages"
)

// A broken lock is lost at once. Its next renewal would be due long after the test has given up.
func TestBreakIsFelt(t *testing.T) {
	t.Parallel()
	const ttl = time.Hour
	other := newClient(t, url)
	for name, opts := range map[string][]holdfast.AcquireOption{"Renewed": nil, "NoRenewal": {holdfast.NoRenewal()}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			lostTo := func(t *testing.T, l *holdfast.Lock, sentinel error) {
				t.Helper()
				await(t, "the lock is lost", l.Lost())
				if cause := context.Cause(l.Context()); !errors.Is(cause, holdfast.ErrLost) || !errors.Is(cause, sentinel) || l.Valid() {
					t.Errorf("got %v, want ErrLost and %v; valid: %v", cause, sentinel, l.Valid())
				}
			}
			breakLock := func(t *testing.T, l *holdfast.Lock) {
				t.Helper()
				stand.Must(t, other.Break(testContext(t), l.Resource(), l.Token(), "test"))
			}

			t.Run("AtOnce", func(t *testing.T) { // before the client has subscribed
				t.Parallel()
				l := mustAcquire(t, newClient(t, url), t.Name(), append(opts, holdfast.TTL(ttl))...)
				breakLock(t, l)
				lostTo(t, l, holdfast.ErrNotHeld)
			})

			t.Run("Later", func(t *testing.T) {
				t.Parallel()
				p := proxy.New(t, url)
				l := mustAcquire(t, newClient(t, p.URL()), t.Name(), append(opts, holdfast.TTL(ttl))...)
				stand.Eventually(t, "the client has subscribed", func() bool { return p.Count("get") > 0 })
				breakLock(t, l)
				lostTo(t, l, holdfast.ErrNotHeld)
			})

			t.Run("WhileDisconnected", func(t *testing.T) {
				t.Parallel()
				p := proxy.New(t, url)
				l := mustAcquire(t, newClient(t, p.URL()), t.Name(), append(opts, holdfast.TTL(ttl))...)
				stand.Eventually(t, "the client has subscribed", func() bool { return p.Count("get") > 0 })
				p.Sever()
				breakLock(t, l)
				next := mustAcquire(t, other, l.Resource())
				p.Resume()
				lostTo(t, l, holdfast.ErrNotOwner)
				mustRelease(t, next)
			})

			t.Run("ExtendedFromAShortTTL", func(t *testing.T) {
				t.Parallel()
				p := proxy.New(t, url)
				l := mustAcquire(t, newClient(t, p.URL()), t.Name(), append(opts, holdfast.TTL(2*time.Second))...)
				stand.Must(t, l.Extend(testContext(t), ttl))
				stand.Eventually(t, "the client has subscribed", func() bool { return p.Count("get") > 0 })
				breakLock(t, l)
				lostTo(t, l, holdfast.ErrNotHeld)
			})
		})
	}
}

// An event is a hint, and the service's answer decides.
func TestForgedEventLosesNothing(t *testing.T) {
	t.Parallel()
	other := newClient(t, url)
	for name, c := range map[string]struct {
		opts []holdfast.AcquireOption
		asks string
	}{"Renewed": {nil, "extend"}, "NoRenewal": {[]holdfast.AcquireOption{holdfast.NoRenewal()}, "get"}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := proxy.New(t, url)
			l := mustAcquire(t, newClient(t, p.URL()), t.Name(), append(c.opts, holdfast.TTL(time.Hour))...)
			stand.Eventually(t, "the client has subscribed", func() bool { return p.Count("get") > 0 })
			forger, before := stand.Dial(t, url), p.Count(c.asks)
			for _, kind := range []string{"BROKEN", "EXPIRED", "RELEASED"} {
				forge(t, forger, l, kind)
			}
			stand.Eventually(t, "the client asks for the first and for the last",
				func() bool { return p.Count(c.asks) >= before+2 })
			if !l.Valid() {
				t.Errorf("a forged event ended the lock: %v", context.Cause(l.Context()))
			}
			mustRelease(t, l)
			if s := mustGet(t, other, l.Resource()); s.Held || s.Token != l.Token() {
				t.Errorf("got %+v, want the lock to have been released by its holder", s)
			}
		})
	}
}

// forge publishes an event of this kind of a lock, as the service does of a lease.
func forge(tb testing.TB, nc *nats.Conn, l *holdfast.Lock, kind string) {
	tb.Helper()
	m := nats.NewMsg(eventsOf(tb, l))
	m.Header.Set("Holdfast-Event", kind)
	m.Header.Set("Fencing-Token", l.Token().String())
	stand.Must(tb, nc.PublishMsg(m))
}

// eventsOf returns the subject of the events of a lock.
func eventsOf(tb testing.TB, l *holdfast.Lock) string {
	tb.Helper()
	key := stand.Value(messages.EncodeKey(l.Resource()))(tb)
	return messages.DefaultPrefix.Event(key)
}

// A user who may not subscribe to events renews as before, and NATS complains once and not for each lock.
func TestBreakWithoutTheRightToSubscribe(t *testing.T) {
	t.Parallel()
	url := startWithUsers(t)
	var complaints atomic.Int64
	nc := stand.Dial(t, url, nats.UserInfo("eventless", "x"),
		nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) {
			if errors.Is(err, nats.ErrPermissionViolation) {
				complaints.Add(1)
			}
		}))
	c := stand.Client(t, nc)
	other := stand.Client(t, stand.Dial(t, url, nats.UserInfo("node", "x")))
	var locks []*holdfast.Lock
	for i := range 20 {
		locks = append(locks, mustAcquire(t, c, fmt.Sprint(t.Name(), i), holdfast.TTL(30*time.Second)))
	}
	stand.Eventually(t, "the subscription is refused", func() bool { return complaints.Load() > 0 })
	stand.Must(t, other.Break(testContext(t), locks[0].Resource(), locks[0].Token(), "test"))
	await(t, "the renewal finds the break", locks[0].Lost())
	if _, err := c.TryAcquire(testContext(t), locks[1].Resource()); !errors.Is(err, holdfast.ErrHeld) {
		t.Errorf("got %v, want ErrHeld", err)
	}
	for _, l := range locks[1:] {
		mustRelease(t, l)
	}
	if n := complaints.Load(); n != 1 {
		t.Errorf("NATS complained %d times", n)
	}
}
