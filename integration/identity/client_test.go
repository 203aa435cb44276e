package identity

import (
	"errors"
	"strings"
	"testing"

	"github.com/nats-io/nats.go"

	"github.com/holdfast-io/holdfast/actors/node/identity"
	"github.com/holdfast-io/holdfast/clients/holdfast"
	"github.com/holdfast-io/holdfast/integration/stand"
)

// The Go client works through an import: with renewals, waits and events, and without batches.
func TestGoClient(t *testing.T) {
	t.Parallel()
	node, login := key(t)
	public, _ := key(t)
	s := start(t, identity.User, single(node, public), login)
	nc := s.connect(nats.UserInfo("alice", "a"))
	c := stand.Client(t, nc, holdfast.Prefix("locks"))
	info, err := c.Info(t.Context())
	if err != nil || info.Identity != "alice" {
		t.Fatalf("got %+v, %v, want the identity alice", info, err)
	}
	events, err := nc.SubscribeSync("locks.event.a")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Acquire(t.Context(), "a"); !errors.Is(err, holdfast.ErrInvalid) ||
		!strings.Contains(err.Error(), another) {
		t.Errorf("another owner: got %v, want an error that names the identity", err)
	}
	lock, err := c.Acquire(t.Context(), "a", holdfast.Owner("alice/1"))
	if err != nil {
		t.Fatal(err)
	}
	if held, err := c.Get(t.Context(), "a"); err != nil || held.Owner != "alice/1" || held.Identity != "alice" {
		t.Errorf("got %+v, %v, want a lease of alice", held, err)
	}
	next := make(chan error, 1)
	go func() {
		second, err := c.Acquire(t.Context(), "a", holdfast.Owner("alice/2"))
		if err == nil {
			err = second.Release(t.Context())
		}
		next <- err
	}()
	s.untilWaiting(nc, "locks.get.a")
	if err := errors.Join(lock.Extend(t.Context(), holdfast.DefaultTTL), lock.Release(t.Context()), <-next); err != nil {
		t.Error(err)
	}
	for _, kind := range []string{"ACQUIRED", "EXTENDED", "RELEASED", "ACQUIRED", "RELEASED"} {
		m, err := events.NextMsg(patience)
		if err != nil {
			t.Fatal(err)
		}
		if got := m.Header.Get("Holdfast-Event"); got != kind ||
			!strings.Contains(string(m.Data), `"identity":"alice"`) {
			t.Errorf("got %s %s, want %s of alice", got, m.Data, kind)
		}
	}
}
