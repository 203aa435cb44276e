package holdfast

import (
	"maps"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/holdfast-io/holdfast/messages"
)

// listen notes the orders of the extends and sets that arrive, each once.
func (s *scripted) listen() (orders *[]uint64) {
	orders = new([]uint64)
	s.heardOf = func(m proto.Message) {
		if r, ok := m.(interface{ GetOrder() uint64 }); ok && !slices.Contains(*orders, r.GetOrder()) {
			*orders = append(*orders, r.GetOrder())
		}
	}
	return orders
}

// wantOrders checks the orders that have arrived since the last call.
func (s *scripted) wantOrders(orders *[]uint64, want ...uint64) {
	s.t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	if !slices.Equal(*orders, want) {
		s.t.Errorf("requests of the orders %v, want %v", *orders, want)
	}
	*orders = nil
}

// Renewals have one order, and each request for something else another one. An older service gets none.
func TestOrders(t *testing.T) {
	for name, features := range map[string][]string{
		"ordered": {messages.FeatureBatch, messages.FeatureValues, messages.FeatureOrder},
		"older":   {messages.FeatureBatch, messages.FeatureValues},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newScripted(t)
				s.features = features
				orders := s.listen()
				l := mustLock(t, s.client(), "r")
				expect := func(want uint64, ask func() error) {
					t.Helper()
					if err := ask(); err != nil {
						t.Error(err)
					}
					if name == "older" {
						want = 0
					}
					s.wantOrders(orders, want)
				}
				expect(1, func() error { wait(5 * DefaultTTL); return nil })
				expect(1, func() error { return l.Extend(t.Context(), DefaultTTL) })
				expect(2, func() error { return l.Extend(t.Context(), time.Second) })
				expect(2, func() error { wait(5 * time.Second); return nil })
				// sets are counted by themselves
				expect(1, func() error { return l.Set(t.Context(), map[string]string{"a": "1"}) })
				*orders = nil
				wait(0)
				expect(2, func() error { return l.Set(t.Context(), map[string]string{"a": "2"}) })
				expect(2, func() error { return l.Set(t.Context(), map[string]string{"a": "2"}) })
			})
		})
	}
}

// A set of another process is not undone by accident, and does not keep the client from setting others.
func TestAnotherProcessSets(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScripted(t)
		l := mustLock(t, s.client(), "r")
		orders := s.listen()
		s.mu.Lock()
		s.leases["r"].setOrder, s.leases["r"].metadata = 5, map[string]string{"a": "other"}
		s.mu.Unlock()
		want := map[string]string{"a": "mine"}
		if err := l.Set(t.Context(), want); err != nil {
			t.Error(err)
		}
		s.wantOrders(orders, 1, 6)
		if !maps.Equal(s.leases["r"].metadata, want) || !maps.Equal(l.Metadata(), want) {
			t.Errorf("the service has %v, the lock %v, want %v", s.leases["r"].metadata, l.Metadata(), want)
		}
	})
}
