package fencekv_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/holdfast-io/holdfast/clients/fence"
	"github.com/holdfast-io/holdfast/clients/fence/fencekv"
	"github.com/holdfast-io/holdfast/integration/stand"
	"github.com/holdfast-io/holdfast/jetstream/embedded"
)

func TestOpenWithoutABucket(t *testing.T) {
	_, err := fencekv.Open(t.Context(), mustStore(t), "orders")
	wantError(t, err, jetstream.ErrBucketNotFound)
	if !strings.Contains(err.Error(), "nats kv add orders") {
		t.Errorf("%v does not say how to make one", err)
	}
}

func TestOpenWithAnIllegalName(t *testing.T) {
	_, err := fencekv.Open(t.Context(), mustStore(t), "orders.>")
	wantError(t, err, jetstream.ErrInvalidBucketName)
}

func TestOpenForgetful(t *testing.T) {
	s := mustStore(t)
	s.mustCreate(t, jetstream.KeyValueConfig{Bucket: "origin"})
	plain := jetstream.StreamConfig{Name: "KV_orders", Subjects: []string{"$KV.orders.>"}, MaxMsgsPerSubject: 1}
	for name, change := range map[string]func(*jetstream.StreamConfig){
		"memory":       func(c *jetstream.StreamConfig) { c.Storage = jetstream.MemoryStorage },
		"async":        func(c *jetstream.StreamConfig) { c.PersistMode = jetstream.AsyncPersistMode },
		"TTL":          func(c *jetstream.StreamConfig) { c.MaxAge = patience },
		"evicts bytes": func(c *jetstream.StreamConfig) { c.MaxBytes = 1 << 20 },
		"evicts keys":  func(c *jetstream.StreamConfig) { c.MaxMsgs = 1000 },
		"mirror": func(c *jetstream.StreamConfig) {
			c.Subjects, c.Mirror = nil, &jetstream.StreamSource{Name: "KV_origin"}
		},
	} {
		t.Run(name, func(t *testing.T) {
			cfg := plain
			change(&cfg)
			if _, err := s.CreateStream(t.Context(), cfg); err != nil {
				t.Fatal(err)
			}
			_, err := fencekv.Open(t.Context(), s, "orders")
			wantError(t, err, fence.ErrUnfit)
			if err := s.DeleteStream(t.Context(), cfg.Name); err != nil {
				t.Fatal(err)
			}
		})
	}
	if _, err := s.CreateStream(t.Context(), plain); err != nil {
		t.Fatal(err)
	}
	mustPut(t, mustGuard(t, s, "orders"), claim(34), "a bucket without any of them")
}

func TestOpenWithAnUnknownRule(t *testing.T) {
	_, err := fencekv.Open(t.Context(), mustStore(t), "orders", fencekv.WithRule(7))
	wantError(t, err, fence.ErrInvalid)
}

// TestFull is the bucket that refuses what is new instead: nothing is forgotten.
func TestFull(t *testing.T) {
	s := mustStore(t)
	s.mustCreate(t, jetstream.KeyValueConfig{Bucket: "orders", MaxBytes: 1 << 10})
	b := mustGuard(t, s, "orders")
	mustPut(t, b, claim(34), "fits")
	_, err := b.Put(t.Context(), claim(35), make([]byte, 2<<10))
	if _, ok := errors.AsType[*jetstream.APIError](err); !ok {
		t.Errorf("a write beyond the limit: %v", err)
	}
	wantEntry(t, b, claim(34), "fits")
}

// TestDomain reaches a bucket through the API of its domain, as from a leaf node.
func TestDomain(t *testing.T) {
	nc := stand.StartNATS(t, embedded.Config{ConfigFile: stand.NATSConfig(t,
		fmt.Sprintf("jetstream { store_dir: %q, sync_interval: always, domain: hub }", t.TempDir()))}).Connect(t)
	hub, err := jetstream.NewWithDomain(nc, "hub")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := hub.CreateKeyValue(t.Context(), jetstream.KeyValueConfig{Bucket: "orders"}); err != nil {
		t.Fatal(err)
	}
	b := mustGuard(t, hub, "orders")
	mustPut(t, b, claim(34), "paid")
	wantEntry(t, b, claim(34), "paid")
}
