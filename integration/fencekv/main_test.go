package fencekv_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/holdfast-io/holdfast/clients/fence"
	"github.com/holdfast-io/holdfast/clients/fence/fencekv"
	"github.com/holdfast-io/holdfast/integration/stand"
	"github.com/holdfast-io/holdfast/jetstream/embedded"
)

// patience bounds every wait. Nothing is measured by it.
const patience = time.Minute

// store is a JetStream that can be restarted, with a bucket for each test.
type store struct {
	server *stand.NATS
	jetstream.JetStream
}

func mustStore(tb testing.TB) *store {
	tb.Helper()
	s := &store{server: stand.StartNATS(tb, embedded.Config{})}
	s.JetStream = mustJetStream(tb, s.server.Connect(tb))
	return s
}

func mustJetStream(tb testing.TB, nc *nats.Conn) jetstream.JetStream {
	tb.Helper()
	js, err := jetstream.New(nc)
	if err != nil {
		tb.Fatal(err)
	}
	return js
}

func (s *store) mustCreate(tb testing.TB, cfg jetstream.KeyValueConfig) jetstream.KeyValue {
	tb.Helper()
	kv, err := s.CreateOrUpdateKeyValue(tb.Context(), cfg)
	if err != nil {
		tb.Fatal(err)
	}
	return kv
}

// mustOpen makes a bucket and returns it with its guard.
func mustOpen(tb testing.TB) (*fencekv.Bucket, jetstream.KeyValue, *store) {
	tb.Helper()
	s := mustStore(tb)
	kv := s.mustCreate(tb, jetstream.KeyValueConfig{Bucket: "orders"})
	return mustGuard(tb, s, "orders"), kv, s
}

func mustGuard(tb testing.TB, js jetstream.JetStream, bucket string, opts ...fencekv.Option) *fencekv.Bucket {
	tb.Helper()
	b, err := fencekv.Open(tb.Context(), js, bucket, opts...)
	if err != nil {
		tb.Fatal(err)
	}
	return b
}

func claim(token fence.Token) fence.Claim {
	return fence.Claim{Resource: "orders.42", Token: token}
}

func mustPut(tb testing.TB, b *fencekv.Bucket, c fence.Claim, value string) uint64 {
	tb.Helper()
	revision, err := b.Put(tb.Context(), c, []byte(value))
	if err != nil {
		tb.Fatal(err)
	}
	return revision
}

// wantEntry checks the value of a resource and the token that guards it.
func wantEntry(tb testing.TB, b *fencekv.Bucket, c fence.Claim, value string) {
	tb.Helper()
	e, err := b.Get(tb.Context(), c.Resource)
	if err != nil {
		tb.Fatal(err)
	}
	if string(e.Value) != value || e.Token != c.Token || e.Resource != c.Resource {
		tb.Errorf("%q has %q by %d, want %q by %d", e.Resource, e.Value, e.Token, value, c.Token)
	}
}

func wantError(tb testing.TB, err, kind error) {
	tb.Helper()
	if !errors.Is(err, kind) {
		tb.Errorf("error %v, want %v", err, kind)
	}
}

// get reads as the suite does: empty is what is not there.
func get(ctx context.Context, b *fencekv.Bucket, resource string) (string, error) {
	e, err := b.Get(ctx, resource)
	if errors.Is(err, jetstream.ErrKeyNotFound) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	return string(e.Value), nil
}
