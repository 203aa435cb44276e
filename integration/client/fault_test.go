package client_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/holdfast-io/holdfast/clients/holdfast"
	"github.com/holdfast-io/holdfast/integration/proxy"
	"github.com/holdfast-io/holdfast/integration/stand"
)

// What is lost on the way, there or back, is repeated, and is the same request for the service.
func TestLostMessages(t *testing.T) {
	url := newService(t).URL() // tokens begin at 1
	other := newClient(t, url)
	for _, way := range []struct {
		name string
		lose func(p *proxy.Proxy, op string, judge func() proxy.Verdict)
	}{{"Request", (*proxy.Proxy).OnRequests}, {"Answer", (*proxy.Proxy).OnAnswers}} {
		for _, times := range []int{1, 2} {
			t.Run(way.name+map[int]string{1: "", 2: "Twice"}[times], func(t *testing.T) {
				t.Parallel()
				p := proxy.New(t, url)
				c := newClient(t, p.URL())

				way.lose(p, "acquire", proxy.First(times, proxy.Lose))
				l := mustAcquire(t, c, t.Name())
				if s := mustGet(t, other, t.Name()); l.Token() != 1 || !s.Held || s.Token != 1 {
					t.Errorf("got %v, the service says %+v", l, s)
				}
				way.lose(p, "extend", proxy.First(times, proxy.Lose))
				if err := l.Extend(testContext(t), time.Hour); err != nil {
					t.Error(err)
				}
				way.lose(p, "get", proxy.First(times, proxy.Lose))
				if s := mustGet(t, c, t.Name()); s.TTL != time.Hour {
					t.Errorf("got %+v", s)
				}
				way.lose(p, "release", proxy.First(times, proxy.Lose))
				mustRelease(t, l)
				if mustGet(t, other, t.Name()).Held {
					t.Error("still held")
				}

				way.lose(p, "acquire", proxy.First(times, proxy.Lose))
				l, err := c.TryAcquire(testContext(t), t.Name())
				if err != nil || l.Token() != 2 {
					t.Fatalf("got %v, %v, want token 2", l, err)
				}
				way.lose(p, "break", proxy.First(times, proxy.Lose))
				if err := c.Break(testContext(t), t.Name(), l.Token(), "test"); err != nil {
					t.Error(err)
				}
				for _, op := range []string{"list", "info"} {
					way.lose(p, op, proxy.First(times, proxy.Lose))
					if err := general(t, c, op); err != nil {
						t.Errorf("%s: %v", op, err)
					}
				}
			})
		}
	}
}

func general(t *testing.T, c *holdfast.Client, op string) error {
	t.Helper()
	if op == "info" {
		_, err := c.Info(testContext(t))
		return err
	}
	for _, err := range c.List(testContext(t), t.Name()) {
		if err != nil {
			return err
		}
	}
	return nil
}

// brief is the timeout of a client that misses an answer. A busy machine gives every other answer within it.
const brief = 500 * time.Millisecond

// A request that is given up while its answer is lost leaves no lock behind.
func TestGivenUp(t *testing.T) {
	url := newService(t).URL() // tokens begin at 1
	other := newClient(t, url)

	t.Run("TryAcquire", func(t *testing.T) {
		p := proxy.New(t, url)
		c := newClient(t, p.URL(), holdfast.Timeout(brief))
		p.OnAnswers("acquire", proxy.First(1, proxy.Lose))
		l, err := c.TryAcquire(testContext(t), t.Name(), holdfast.TTL(time.Hour))
		if l != nil || !errors.Is(err, holdfast.ErrUnknown) {
			t.Fatalf("got %v, %v, want ErrUnknown", l, err)
		}
		untilFree(t, other, t.Name())
	})

	t.Run("Acquire", func(t *testing.T) {
		p := proxy.New(t, url)
		c := newClient(t, p.URL())
		p.OnAnswers("acquire", proxy.First(1, proxy.Lose))
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		defer cancel()
		l, err := c.Acquire(ctx, t.Name(), holdfast.TTL(time.Hour))
		if l != nil || !errors.Is(err, holdfast.ErrTimeout) {
			t.Fatalf("got %v, %v, want ErrTimeout", l, err)
		}
		untilFree(t, other, t.Name())
	})

	// The answer comes when it is not expected any more.
	t.Run("LateAnswer", func(t *testing.T) {
		p := proxy.New(t, url)
		c := newClient(t, p.URL(), holdfast.Timeout(brief))
		p.OnRequests("release", proxy.Always(proxy.Keep)) // so that it is not cleared up otherwise
		p.OnAnswers("acquire", proxy.First(1, proxy.Keep))
		if _, err := c.TryAcquire(testContext(t), t.Name(), holdfast.TTL(time.Hour)); !errors.Is(err, holdfast.ErrUnknown) {
			t.Fatalf("got %v, want ErrUnknown", err)
		}
		p.Resume()
		p.Deliver()
		untilFree(t, other, t.Name())
	})

	// The request itself comes when nothing waits for it, after it has been withdrawn.
	t.Run("LateRequest", func(t *testing.T) {
		p := proxy.New(t, url)
		c := newClient(t, p.URL(), holdfast.Timeout(brief))
		p.OnRequests("acquire", proxy.First(1, proxy.Keep))
		if _, err := c.TryAcquire(testContext(t), t.Name(), holdfast.TTL(time.Hour)); !errors.Is(err, holdfast.ErrUnknown) {
			t.Fatalf("got %v, want ErrUnknown", err)
		}
		answered := p.Answered("acquire")
		stand.Eventually(t, "it is withdrawn", func() bool { return p.Count("release") > 0 })
		mustGet(t, c, t.Name()) // behind the withdrawal
		p.Deliver()
		<-answered
		if s := mustGet(t, other, t.Name()); s.Token != 0 {
			t.Errorf("the late request was granted: %+v", s)
		}
	})

	// A repetition arrives when the lock has been released.
	t.Run("LateRepetition", func(t *testing.T) {
		p := proxy.New(t, url)
		c := newClient(t, p.URL())
		p.OnRequests("acquire", proxy.First(1, proxy.Keep))
		l := mustAcquire(t, c, t.Name(), holdfast.TTL(time.Hour))
		mustRelease(t, l)
		answered := p.Answered("acquire")
		p.Deliver()
		<-answered
		if s := mustGet(t, other, t.Name()); s.Held || s.Token != 1 {
			t.Errorf("the late request was granted: %+v", s)
		}
	})

	// A copy of a request that was refused comes when the lock is free.
	t.Run("LateRefused", func(t *testing.T) {
		p := proxy.New(t, url)
		c := newClient(t, p.URL())
		held := mustAcquire(t, other, t.Name())
		p.OnRequests("acquire", proxy.First(1, proxy.Keep))
		if _, err := c.TryAcquire(testContext(t), t.Name(), holdfast.TTL(time.Hour)); !errors.Is(err, holdfast.ErrHeld) {
			t.Fatalf("got %v, want ErrHeld", err)
		}
		stand.Eventually(t, "it is withdrawn", func() bool { return p.Count("release") > 0 })
		mustGet(t, c, t.Name()) // behind the withdrawal
		mustRelease(t, held)
		answered := p.Answered("acquire")
		p.Deliver()
		<-answered
		if s := mustGet(t, other, t.Name()); s.Held || s.Token != 1 {
			t.Errorf("the late request was granted: %+v", s)
		}
	})

	// The lease ends before any answer comes: the client asks anew, as another request.
	t.Run("GrantThatRanOut", func(t *testing.T) {
		p := proxy.New(t, url)
		c := newClient(t, p.URL())
		p.OnAnswers("acquire", proxy.Always(proxy.Lose))
		locked := make(chan *holdfast.Lock, 1)
		go func() {
			l, err := c.Acquire(testContext(t), t.Name(), holdfast.TTL(2*time.Second))
			if err != nil {
				t.Error(err)
			}
			locked <- l
		}()
		stand.Eventually(t, "the lease has ended", func() bool {
			s := mustGet(t, other, t.Name())
			return s.Token == 1 && !s.Held
		})
		p.Resume()
		p.OnAnswers("acquire", proxy.Always(proxy.Pass))
		if l := <-locked; l != nil && (l.Token() != 2 || !l.Valid()) {
			t.Errorf("got %v, want token 2", l)
		}
	})

	// Another lock of the same owner is not touched by what is cleared up.
	t.Run("SameOwner", func(t *testing.T) {
		p := proxy.New(t, url)
		secret := holdfast.Secret([]byte("one secret for both"))
		c := newClient(t, p.URL(), secret, holdfast.Timeout(brief),
			holdfast.Defaults(holdfast.Owner("ann"), holdfast.Reentrant()))
		holder := newClient(t, url, secret, holdfast.Defaults(holdfast.Owner("ann"), holdfast.TTL(time.Hour)))
		l := mustAcquire(t, holder, t.Name())
		p.OnRequests("acquire", proxy.Always(proxy.Lose))
		if _, err := c.TryAcquire(testContext(t), t.Name()); !errors.Is(err, holdfast.ErrUnknown) {
			t.Fatalf("got %v, want ErrUnknown", err)
		}
		mustGet(t, c, t.Name()) // behind the last copy
		answered := p.Answered("acquire")
		p.OnRequests("acquire", proxy.Always(proxy.Pass))
		<-answered // the request that takes it back may have been lost before
		if err := c.Close(testContext(t)); err != nil {
			t.Error(err)
		}
		if err := l.Extend(testContext(t), time.Hour); err != nil {
			t.Errorf("the other lock is gone: %v", err)
		}
	})
}

// A shorter lease that was asked for first, and takes longer through another door, counts.
func TestExtendOvertaken(t *testing.T) {
	p := proxy.New(t, url)
	c, rival := newClient(t, p.URL()), newClient(t, url)
	l := mustAcquire(t, c, t.Name(), holdfast.TTL(20*time.Second))
	p.OnRequests("extend", proxy.First(1, proxy.Keep))
	shorter := make(chan error, 1)
	go func() { shorter <- l.Extend(testContext(t), 3*time.Second) }()
	stand.Eventually(t, "the shorter one is on its way", func() bool { return p.Count("extend") == 1 })
	if err := l.Extend(testContext(t), 20*time.Second); err != nil {
		t.Fatal(err)
	}
	if err := <-shorter; err != nil {
		t.Fatal(err)
	}
	p.OnRequests("extend", proxy.Always(proxy.Lose))
	p.Deliver()
	next := mustAcquire(t, rival, t.Name())
	if l.Valid() {
		t.Errorf("%v is valid beside %v", l, next)
	}
	await(t, "the lock is lost", l.Lost())
}
