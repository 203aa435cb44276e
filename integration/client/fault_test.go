package client_test

import (
	"errors"
	"testing"
	"time"

	"github.com/holdfast-io/holdfast/clients/holdfast"
	"github.com/holdfast-io/holdfast/integration/proxy"
	"github.com/holdfast-io/holdfast/integration/stand"
)

// What is lost on the way, there or back, is repeated, also a call that the conformance cases do not have.
func TestLostMessages(t *testing.T) {
	t.Parallel()
	c := newClient(t, url)
	for way, lose := range map[string]func(p *proxy.Proxy, op string, judge func() proxy.Verdict){
		"Request": (*proxy.Proxy).OnRequests, "Answer": (*proxy.Proxy).OnAnswers,
	} {
		for op, ask := range map[string]func(*holdfast.Client, string) error{
			"break": func(c *holdfast.Client, resource string) error {
				return c.Break(testContext(t), resource, mustAcquire(t, c, resource).Token(), "test")
			},
			"list": func(c *holdfast.Client, resource string) error { return firstError(c.List(testContext(t), resource)) },
			"info": func(c *holdfast.Client, _ string) error { return second(c.Info(testContext(t))) },
		} {
			t.Run(op+way, func(t *testing.T) {
				t.Parallel()
				p := proxy.New(t, url)
				lose(p, op, proxy.First(2, proxy.Lose))
				if err := ask(newClient(t, p.URL()), t.Name()); err != nil {
					t.Error(err)
				}
				wantAllFree(t, c, t.Name())
			})
		}
	}
}

// brief is the timeout of a client that misses an answer. A busy machine gives every other answer within it.
const brief = 500 * time.Millisecond

// A request that comes late, and one that is taken back, leave the locks of others as they are.
func TestGivenUp(t *testing.T) {
	t.Parallel()
	url := newService(t).URL() // tokens begin at 1
	other := newClient(t, url)

	// A copy of a request that was refused comes when the lock is free.
	t.Run("LateRefused", func(t *testing.T) {
		t.Parallel()
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

	// Another lock of the same owner is not touched by what is cleared up.
	t.Run("SameOwner", func(t *testing.T) {
		t.Parallel()
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
