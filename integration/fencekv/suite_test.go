package fencekv_test

import (
	"context"
	"strings"
	"testing"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/holdfast-io/holdfast/clients/fence"
	"github.com/holdfast-io/holdfast/clients/fence/fencekv"
	"github.com/holdfast-io/holdfast/clients/fence/fencetest"
	"github.com/holdfast-io/holdfast/messages"
)

func TestSuite(t *testing.T) {
	s := mustStore(t)
	s.mustCreate(t, jetstream.KeyValueConfig{Bucket: "suite", History: jetstream.KeyValueMaxHistory})
	fencetest.Run(t, fencetest.Subject{
		Open: func(tb testing.TB, rule fence.Rule) fencetest.Register {
			tb.Helper()
			return register{mustGuard(tb, s, "suite", fencekv.WithRule(rule))}
		},
		Observed: func(tb testing.TB, o fence.Observer) fencetest.Register {
			tb.Helper()
			return register{mustGuard(tb, s, "suite", fencekv.WithObserver(o))}
		},
		Marks: func(tb testing.TB, rule fence.Rule) fence.Marks {
			tb.Helper()
			return mustGuard(tb, s, "suite", fencekv.WithRule(rule))
		},
		Restart: func(tb testing.TB) {
			tb.Helper()
			s.server.Restart(tb)
			s.JetStream = mustJetStream(tb, s.server.Connect(t))
		},
		History: s.history,
		Through: func(tb testing.TB, rule fence.Rule, via func(string) string) fencetest.Register {
			tb.Helper()
			return register{mustGuard(tb, s.through(tb, via), "suite", fencekv.WithRule(rule))}
		},
	})
}

// through connects to the server over TCP.
func (s *store) through(tb testing.TB, via func(string) string) jetstream.JetStream {
	tb.Helper()
	nc, err := nats.Connect("nats://" + via(strings.TrimPrefix(s.server.ClientURL(), "nats://")))
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(nc.Close)
	return mustJetStream(tb, nc)
}

type register struct{ *fencekv.Bucket }

func (r register) Write(ctx context.Context, c fence.Claim, value string) error {
	_, err := r.Put(ctx, c, []byte(value))
	return err
}

func (r register) Modify(ctx context.Context, c fence.Claim, f func(old string) (string, error)) error {
	return r.Bucket.Modify(ctx, c, func(old []byte) ([]byte, error) {
		value, err := f(string(old))
		return []byte(value), err
	})
}

func (r register) Read(ctx context.Context, resource string) (string, error) {
	return get(ctx, r.Bucket, resource)
}

// history is what any reader of the bucket sees.
func (s *store) history(tb testing.TB, resource string) []string {
	tb.Helper()
	kv, err := s.KeyValue(tb.Context(), "suite")
	if err != nil {
		tb.Fatal(err)
	}
	key, err := messages.EncodeKey(resource)
	if err != nil {
		tb.Fatal(err)
	}
	entries, err := kv.History(tb.Context(), key)
	if err != nil {
		tb.Fatal(err)
	}
	var values []string
	for _, e := range entries {
		values = append(values, string(e.Value()))
	}
	return values
}
