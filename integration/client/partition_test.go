package client_test

import (
	"bytes"
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/holdfast-io/holdfast/clients/holdfast"
	"github.com/holdfast-io/holdfast/integration/proxy"
	"github.com/holdfast-io/holdfast/integration/stand"
)

// Whatever becomes of the connection, the lock ends here before the service grants it to another holder.
func TestPartitionWhileHolding(t *testing.T) {
	for name, part := range map[string]func(*proxy.Proxy){
		"Blackhole": (*proxy.Proxy).Blackhole, "Severed": (*proxy.Proxy).Sever, "Clogged": (*proxy.Proxy).Clog,
		"AnswersLost":  func(p *proxy.Proxy) { p.OnAnswers("extend", proxy.Always(proxy.Lose)) },
		"RequestsLost": func(p *proxy.Proxy) { p.OnRequests("extend", proxy.Always(proxy.Lose)) },
	} {
		t.Run(name, func(t *testing.T) {
			p := proxy.New(t, url)
			c, rival := newClient(t, p.URL()), newClient(t, url)
			l := mustAcquire(t, c, t.Name(), holdfast.TTL(1500*time.Millisecond))
			waiting := acquiring(testContext(t), rival, t.Name())
			untilWaiting(t, rival, t.Name(), 1)
			part(p)
			if name == "AnswersLost" { // the service goes on to renew, and only the client does not know
				await(t, "the lock is lost", l.Lost())
				p.Resume()
				return
			}
			next := mustGrant(t, waiting)
			if l.Valid() {
				t.Errorf("%v is valid beside %v", l, next)
			}
			await(t, "the lock is lost", l.Lost())
			if cause := context.Cause(l.Context()); !errors.Is(cause, holdfast.ErrLost) {
				t.Errorf("got %v, want ErrLost", cause)
			}
			p.Resume()
			if err := l.Release(testContext(t)); !errors.Is(err, holdfast.ErrLost) {
				t.Errorf("released: got %v, want ErrLost", err)
			}
			mustRelease(t, next)
		})
	}
}

// The connection is the application's, which may stuff it, so that nothing can be written for a minute.
// The lock is lost in time all the same, and calls end with their contexts.
func TestStuffedConnection(t *testing.T) {
	p := proxy.New(t, url)
	nc := stand.Dial(t, p.URL())
	c, rival := stand.Client(t, nc, holdfast.Timeout(100*time.Millisecond)), newClient(t, url)
	l := mustAcquire(t, c, t.Name(), holdfast.TTL(1500*time.Millisecond))
	waiting := acquiring(testContext(t), rival, t.Name())
	untilWaiting(t, rival, t.Name(), 1)
	p.Clog()
	var stuffing sync.WaitGroup
	t.Cleanup(stuffing.Wait)
	t.Cleanup(p.Resume)
	stuffing.Go(func() {
		chunk := bytes.Repeat([]byte("x"), 512<<10)
		for range 64 {
			_ = nc.Publish("bulk", chunk) // ends with the test's connection at the latest
		}
	})
	await(t, "the lock is lost", l.Lost())
	if next := mustGrant(t, waiting); l.Valid() {
		t.Errorf("%v is valid beside %v", l, next)
	}
	if _, err := c.TryAcquire(t.Context(), t.Name()+"2"); !errors.Is(err, holdfast.ErrUnavailable) {
		t.Errorf("got %v, want ErrUnavailable: it never left", err)
	}
	if err := l.Release(t.Context()); err == nil {
		t.Error("released although nothing can be asked")
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := c.Acquire(ctx, t.Name()+"2"); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v, want DeadlineExceeded", err)
	}
	if err := c.Close(ctx); err == nil {
		t.Error("closed although nothing can be released")
	}
}

// A partition that is shorter than the lease does it no harm.
func TestShortPartition(t *testing.T) {
	for name, part := range map[string]func(*proxy.Proxy){
		"Blackhole": (*proxy.Proxy).Blackhole, "Severed": (*proxy.Proxy).Sever, "Clogged": (*proxy.Proxy).Clog,
		"Cut": (*proxy.Proxy).Cut,
	} {
		t.Run(name, func(t *testing.T) {
			p := proxy.New(t, url)
			l := mustAcquire(t, newClient(t, p.URL()), t.Name(), holdfast.TTL(3*time.Second))
			for range 3 {
				part(p)
				n := p.Count("extend")
				if name == "Blackhole" {
					stand.Eventually(t, "a renewal is lost", func() bool { return p.Count("extend") > n })
				}
				p.Resume()
				if err := l.Extend(testContext(t), 3*time.Second); err != nil {
					t.Fatal(err)
				}
			}
			if l.Context().Err() != nil {
				t.Error(context.Cause(l.Context()))
			}
			mustRelease(t, l)
		})
	}
}

// A waiting call keeps its place in the queue through a partition, or gets it anew behind requests that came
// meanwhile.
func TestPartitionWhileWaiting(t *testing.T) {
	for name, part := range map[string]func(*proxy.Proxy){
		"Blackhole": (*proxy.Proxy).Blackhole, "Severed": (*proxy.Proxy).Sever, "Cut": (*proxy.Proxy).Cut,
	} {
		t.Run(name, func(t *testing.T) {
			p := proxy.New(t, url)
			c, holder := newClient(t, p.URL()), newClient(t, url)
			l := mustAcquire(t, holder, t.Name())
			waiting := acquiring(testContext(t), c, t.Name(), holdfast.TTL(2*time.Second))
			untilWaiting(t, holder, t.Name(), 1)
			part(p)
			mustRelease(t, l) // granted into the dark, if it does not know yet
			p.Resume()
			next := mustGrant(t, waiting)
			if s := mustGet(t, holder, t.Name()); !s.Held || s.Token != next.Token() {
				t.Errorf("got %v, the service says %+v", next, s)
			}
			mustRelease(t, next)
			untilFree(t, holder, t.Name())
		})
	}
}

// One that gives up waiting behind a partition is out of the queue when that is over, or has given back
// what it was granted.
func TestPartitionWhileGivingUp(t *testing.T) {
	for name, part := range map[string]func(*proxy.Proxy){"Blackhole": (*proxy.Proxy).Blackhole,
		"Severed": (*proxy.Proxy).Sever} {
		t.Run(name, func(t *testing.T) {
			p := proxy.New(t, url)
			c, holder := newClient(t, p.URL(), holdfast.Timeout(100*time.Millisecond)), newClient(t, url)
			l := mustAcquire(t, holder, t.Name())
			ctx, cancel := context.WithCancel(t.Context())
			waiting := acquiring(ctx, c, t.Name(), holdfast.TTL(time.Hour))
			untilWaiting(t, holder, t.Name(), 1)
			part(p)
			mustRelease(t, l)
			cancel()
			if o := <-waiting; !errors.Is(o.err, context.Canceled) {
				t.Errorf("got %v, want Canceled", o.err)
			}
			p.Resume()
			untilFree(t, holder, t.Name())
		})
	}
}

// Without a node nothing happens, and calls say so.
func TestServiceDown(t *testing.T) {
	s := newService(t)
	nc := stand.Dial(t, s.URL())
	c := stand.Client(t, nc, holdfast.Timeout(200*time.Millisecond))
	l := mustAcquire(t, c, "held", holdfast.TTL(time.Minute))
	s.Stop()
	stand.Eventually(t, "that is noticed", func() bool { return !nc.IsConnected() })
	if _, err := c.TryAcquire(testContext(t), "free"); !errors.Is(err, holdfast.ErrUnavailable) {
		t.Errorf("got %v, want ErrUnavailable", err)
	}
	if _, err := c.Acquire(testContext(t), "free", holdfast.MaxWait(time.Millisecond)); !errors.Is(err, holdfast.ErrUnavailable) {
		t.Errorf("got %v, want ErrUnavailable", err)
	}
	if _, err := c.Get(testContext(t), "free"); !errors.Is(err, holdfast.ErrUnavailable) {
		t.Errorf("got %v, want ErrUnavailable", err)
	}
	if _, err := c.Info(testContext(t)); !errors.Is(err, holdfast.ErrUnavailable) {
		t.Errorf("got %v, want ErrUnavailable", err)
	}
	waiting := acquiring(testContext(t), c, "free")
	s.Restart()
	mustRelease(t, mustGrant(t, waiting))
	if !l.Valid() {
		t.Error(context.Cause(l.Context()))
	}
	mustRelease(t, l)
}
