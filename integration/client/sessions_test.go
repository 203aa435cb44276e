package client_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/holdfast-io/holdfast/clients/holdfast"
	"github.com/holdfast-io/holdfast/integration/stand"
)

// untilInSessions waits until the service shows that so many locks are in sessions.
func untilInSessions(t *testing.T, other *holdfast.Client, pattern string, n int) {
	t.Helper()
	stand.Eventually(t, fmt.Sprint(n, " locks are in sessions"), func() bool {
		in := 0
		for l, err := range other.List(testContext(t), pattern) {
			if err == nil && l.Session != "" {
				in++
			}
		}
		return in == n
	})
}

// The locks of a client come into sessions. They are held on while the service restarts, a break ends one of them, and
// Close gives all of them back at once.
func TestLocksInSessions(t *testing.T) {
	t.Parallel()
	const n = 100
	s := newService(t)
	other := s.Client()
	c, err := holdfast.New(s.Connect(), holdfast.Defaults(holdfast.TTL(4*time.Second)))
	if err != nil {
		t.Fatal(err)
	}
	var locks []*holdfast.Lock
	for i := range n {
		locks = append(locks, mustAcquire(t, c, fmt.Sprint("x.", i)))
	}
	untilInSessions(t, other, "x.>", n)
	s.Restart()
	if err := other.Break(testContext(t), "x.0", locks[0].Token(), "test"); err != nil {
		t.Fatal(err)
	}
	await(t, "the break is felt", locks[0].Lost())
	untilOutlived(t, locks[1], 4*time.Second)
	untilInSessions(t, other, "x.>", n-1)
	for _, l := range locks[1:] {
		if !l.Valid() {
			t.Errorf("%v is lost", l)
		}
	}
	if err := c.Close(testContext(t)); err != nil {
		t.Error(err)
	}
	for l, err := range other.List(testContext(t), "x.>") {
		t.Errorf("%v is held after Close (%v)", l, err)
	}
	if err := locks[1].Release(testContext(t)); err != nil {
		t.Errorf("a release after Close: %v", err)
	}
}

// A user who may not send what concerns sessions has locks all the same.
func TestSessionPermissions(t *testing.T) {
	t.Parallel()
	url := startWithUsers(t)
	other := stand.Client(t, stand.Dial(t, url, nats.UserInfo("node", "x")))
	for _, user := range []string{"keepless"} {
		t.Run(user, func(t *testing.T) {
			t.Parallel()
			c, err := holdfast.New(stand.Dial(t, url, nats.UserInfo(user, "x")))
			if err != nil {
				t.Fatal(err)
			}
			var locks []*holdfast.Lock
			for i := range 3 {
				locks = append(locks, mustAcquire(t, c, fmt.Sprint(user, ".", i), holdfast.TTL(2*time.Second)))
			}
			untilOutlived(t, locks[0], 2*time.Second)
			for _, l := range locks {
				if !l.Valid() {
					t.Errorf("%v is lost", l)
				}
			}
			if err := c.Close(testContext(t)); err != nil {
				t.Error(err)
			}
			for l, err := range other.List(testContext(t), user+".>") {
				t.Errorf("%v is held after Close (%v)", l, err)
			}
		})
	}
}

// A lock is free soon after the connection of its holder is gone, if another client waits for it.
func TestReleaseOnDisconnect(t *testing.T) {
	t.Parallel()
	other := newClient(t, url)
	nc := stand.Dial(t, url)
	c := stand.Client(t, nc, holdfast.ReleaseOnDisconnect(5*time.Second), holdfast.Defaults(holdfast.TTL(time.Hour)))
	l := mustAcquire(t, c, t.Name())
	untilInSessions(t, other, t.Name(), 1)
	waiting := acquiring(testContext(t), other, t.Name())
	untilWaiting(t, other, t.Name(), 1)
	nc.Close()
	next := mustGrant(t, waiting)
	if next.Token() <= l.Token() {
		t.Errorf("got %v after %v", next, l)
	}
	mustRelease(t, next)
}

func TestInvalidDisconnect(t *testing.T) {
	for _, d := range []time.Duration{-1, 0, 4999 * time.Millisecond, 24*time.Hour + 1} {
		if _, err := holdfast.New(stand.Dial(t, url), holdfast.ReleaseOnDisconnect(d)); !errors.Is(err, holdfast.ErrInvalid) {
			t.Errorf("%v: %v, want ErrInvalid", d, err)
		}
	}
	if _, err := holdfast.New(stand.Dial(t, url), holdfast.ReleaseOnDisconnect(time.Minute), holdfast.PerLockRenewal()); !errors.Is(err, holdfast.ErrInvalid) {
		t.Errorf("without sessions: %v, want ErrInvalid", err)
	}
}
