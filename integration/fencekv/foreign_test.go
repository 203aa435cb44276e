package fencekv_test

import (
	"context"
	"errors"
	"testing"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/holdfast-io/holdfast/clients/fence"
	"github.com/holdfast-io/holdfast/clients/fence/fencekv"
)

// TestForeign writes past the guard in every way there is. It is noticed, nothing is overwritten, and
// the entry can be adopted.
func TestForeign(t *testing.T) {
	for name, write := range map[string]func(context.Context, *store, jetstream.KeyValue) error{
		"put": func(ctx context.Context, _ *store, kv jetstream.KeyValue) error {
			_, err := kv.Put(ctx, "orders.42", []byte("foreign"))
			return err
		},
		"delete": func(ctx context.Context, _ *store, kv jetstream.KeyValue) error {
			return kv.Delete(ctx, "orders.42")
		},
		"purge": func(ctx context.Context, _ *store, kv jetstream.KeyValue) error {
			return kv.Purge(ctx, "orders.42")
		},
		"short token": publish(nats.Header{"Fencing-Token": {"34"}}),
		"zero token":  publish(nats.Header{"Fencing-Token": {"000000000000000"}}),
		"two tokens":  publish(nats.Header{"Fencing-Token": {"000000000000034", "000000000000035"}}),
		"other case":  publish(nats.Header{"fencing-token": {"000000000000034"}}),
	} {
		t.Run(name, func(t *testing.T) {
			b, kv, s := mustOpen(t)
			mustPut(t, b, claim(33), "guarded")
			if err := write(t.Context(), s, kv); err != nil {
				t.Fatal(err)
			}
			before := lastRevision(t, s)
			wantForeign(t, b)
			if after := lastRevision(t, s); after != before {
				t.Errorf("the guard has written revision %d over %d", after, before)
			}
			adopt(t, b)
		})
	}
}

// publish writes as no client of buckets does.
func publish(h nats.Header) func(context.Context, *store, jetstream.KeyValue) error {
	return func(ctx context.Context, s *store, _ jetstream.KeyValue) error {
		_, err := s.PublishMsg(ctx, &nats.Msg{Subject: "$KV.orders.orders.42", Header: h, Data: []byte("foreign")})
		return err
	}
}

func wantForeign(t *testing.T, b *fencekv.Bucket) {
	t.Helper()
	_, err := b.Get(t.Context(), "orders.42")
	wantError(t, err, fence.ErrMalformed)
	_, err = b.Put(t.Context(), claim(99), []byte("over it"))
	wantError(t, err, fence.ErrMalformed)
	_, err = b.Update(t.Context(), claim(99), []byte("over it"), 2)
	wantError(t, err, fence.ErrMalformed)
	wantError(t, b.Delete(t.Context(), claim(99)), fence.ErrMalformed)
	wantError(t, b.Raise(t.Context(), claim(99)), fence.ErrMalformed)
}

// adopt keeps the value, if there is one, and guards it from then on.
func adopt(t *testing.T, b *fencekv.Bucket) {
	t.Helper()
	wantError(t, b.Adopt(t.Context(), claim(35)), nil)
	wantError(t, b.Adopt(t.Context(), claim(35)), nil)
	wantError(t, b.Adopt(t.Context(), claim(34)), fence.ErrStale)
	if _, err := b.Get(t.Context(), "orders.42"); !errors.Is(err, jetstream.ErrKeyNotFound) {
		wantEntry(t, b, claim(35), "foreign")
	}
	_, err := b.Put(t.Context(), claim(34), nil)
	wantError(t, err, fence.ErrStale)
	mustPut(t, b, claim(35), "guarded again")
	wantEntry(t, b, claim(35), "guarded again")
}

func lastRevision(t *testing.T, s *store) uint64 {
	t.Helper()
	stream, err := s.Stream(t.Context(), "KV_orders")
	if err != nil {
		t.Fatal(err)
	}
	return stream.CachedInfo().State.LastSeq
}
