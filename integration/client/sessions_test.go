package client_test

import (
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

// A user who may not send what concerns sessions has locks all the same.
func TestSessionPermissions(t *testing.T) {
	t.Parallel()
	url := startWithUsers(t)
	other := stand.Client(t, stand.Dial(t, url, nats.UserInfo("node", "x")))
	for _, user := range []string{"keepless"} {
		t.Run(user, func(t *testing.T) {
			t.Parallel()
			c := stand.Value(holdfast.New(stand.Dial(t, url, nats.UserInfo(user, "x"))))(t)
			var locks []*holdfast.Lock
			for i := range 3 {
				locks = append(locks, mustAcquire(t, c, fmt.Sprint(user, ".", i), holdfast.TTL(9*time.Second)))
			}
			untilOutlived(t, locks[0])
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
