package holdfasttest_test

import (
	"errors"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/holdfast-io/holdfast/clients/holdfast"
	"github.com/holdfast-io/holdfast/cmd/holdfast/holdfasttest"
)

func TestServer(t *testing.T) {
	s := holdfasttest.Start(t)
	c := s.Client(holdfast.Defaults(holdfast.Owner("ann")))
	l, err := c.Acquire(t.Context(), "order:42")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Client().TryAcquire(t.Context(), "order:42"); !errors.Is(err, holdfast.ErrHeld) {
		t.Errorf("got %v, want ErrHeld", err)
	}

	s.Stop()
	s.Start()
	state, err := s.Client().Get(t.Context(), "order:42")
	if err != nil || state.Owner != "ann" || state.Token != l.Token() {
		t.Errorf("after a restart: got %+v, %v", state, err)
	}
	if err := l.Release(t.Context()); err != nil {
		t.Error(err)
	}

	url := s.URL()
	s.Stop()
	if nc, err := nats.Connect(url, nats.Timeout(time.Second)); err == nil {
		nc.Close()
		t.Error("a stopped service takes connections")
	}
	s.Start()
	if err := s.Connect().FlushTimeout(time.Minute); err != nil {
		t.Error(err)
	}
}

// Each service has its own store.
func TestServersAreApart(t *testing.T) {
	for range 2 {
		l, err := holdfasttest.Start(t).Client().TryAcquire(t.Context(), "order:42")
		if err != nil || l.Token() != 1 {
			t.Errorf("got %v, %v, want the first token", l, err)
		}
	}
}
