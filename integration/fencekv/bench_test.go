package fencekv_test

import (
	"testing"

	"github.com/holdfast-io/holdfast/clients/fence/fencetest"
)

// BenchmarkGuard compares Put of the bucket itself with Put of its guard, on one server that syncs each
// message to disk.
func BenchmarkGuard(b *testing.B) {
	orders, kv, _ := mustOpen(b)
	value := make([]byte, 256)
	fencetest.Compare(b,
		func() error { _, err := kv.Put(b.Context(), "bare", value); return err },
		func() error { _, err := orders.Put(b.Context(), claim(34), value); return err })
}
