package client_test

import (
	"errors"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/holdfast-io/holdfast/clients/holdfast"
	"github.com/holdfast-io/holdfast/integration/stand"
)

// users are the node, and some who may do less.
const users = `
authorization { users: [
  { user: node, password: x }
  { user: eventless, password: x, permissions: { publish: "holdfast.>", subscribe: "_INBOX.>" } }
  { user: front, password: x, permissions: { publish: { allow: "holdfast.>", deny: "holdfast.shard.>" }, subscribe: "_INBOX.>" } }
  { user: silent, password: x, permissions: { publish: { allow: "holdfast.>", deny: ["holdfast.info", "holdfast.shard.>"] }, subscribe: "_INBOX.>" } }
  { user: orders, password: x, permissions: { publish: ["holdfast.*.orders.>", "holdfast.shard.*.*.orders.>"], subscribe: "_INBOX.>" } }
  { user: single, password: x, permissions: { publish: { allow: "holdfast.>", deny: "holdfast.shard.*.batch" }, subscribe: "_INBOX.>" } }
  { user: keepless, password: x, permissions: { publish: { allow: "holdfast.>", deny: ["holdfast.shard.*.keep.>", "holdfast.keep.>"] }, subscribe: "_INBOX.>" } }
  { user: nobody, password: x, permissions: { publish: "elsewhere", subscribe: "_INBOX.>" } }
  { user: deaf, password: x, permissions: { publish: "holdfast.>", subscribe: "elsewhere" } }
] }`

// startWithUsers starts a service that asks for users, and returns where it is.
func startWithUsers(t *testing.T) string {
	t.Helper()
	return stand.Start(t, stand.Config{ConfigFile: stand.NATSConfig(t, users), Login: nats.UserInfo("node", "x")}).URL()
}

func TestPermissions(t *testing.T) {
	t.Parallel()
	url := startWithUsers(t)
	client := func(t *testing.T, user string, opts ...holdfast.Option) *holdfast.Client {
		t.Helper()
		return stand.Client(t, stand.Dial(t, url, nats.UserInfo(user, "x")), opts...)
	}
	other := client(t, "node")

	// The front door does as well. What it costs is bounded: so many locks would take longer than a test
	// may, if each found out anew.
	for _, user := range []string{"front", "silent"} {
		t.Run(user, func(t *testing.T) {
			t.Parallel()
			c := client(t, user)
			for range 150 {
				l := mustAcquire(t, c, t.Name(), holdfast.TTL(time.Minute))
				stand.Must(t, l.Extend(testContext(t), time.Minute))
				mustRelease(t, l)
			}
			l := mustAcquire(t, c, t.Name(), holdfast.TTL(9*time.Second))
			untilOutlived(t, l)
			waiting := acquiring(testContext(t), c, t.Name())
			untilWaiting(t, other, t.Name(), 1)
			mustRelease(t, l)
			mustRelease(t, mustGrant(t, waiting))
		})
	}

	t.Run("orders", func(t *testing.T) {
		t.Parallel()
		c := client(t, "orders", holdfast.Timeout(time.Second))
		mustRelease(t, mustAcquire(t, c, "orders.42"))
		if _, err := c.TryAcquire(testContext(t), "customers.42"); !errors.Is(err, nats.ErrPermissionViolation) {
			t.Errorf("got %v, want a permission violation", err)
		}
	})

	for _, user := range []string{"nobody", "deaf"} {
		t.Run(user, func(t *testing.T) {
			t.Parallel()
			c := client(t, user, holdfast.Timeout(time.Second))
			l, err := c.TryAcquire(testContext(t), t.Name())
			if l != nil || !errors.Is(err, nats.ErrPermissionViolation) {
				t.Errorf("try: got %v, %v, want a permission violation", l, err)
			}
			if _, err := c.Get(testContext(t), t.Name()); !errors.Is(err, nats.ErrPermissionViolation) || !errors.Is(err, holdfast.ErrUnavailable) {
				t.Errorf("get: got %v, want ErrUnavailable with a permission violation", err)
			}
			if _, err := c.Acquire(testContext(t), t.Name(), holdfast.MaxWait(100*time.Millisecond)); !errors.Is(err, nats.ErrPermissionViolation) {
				t.Errorf("acquire: got %v, want a permission violation", err)
			}
		})
	}
}
