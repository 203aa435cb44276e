package fenceetcd_test

import (
	"strings"
	"testing"

	"github.com/holdfast-io/holdfast/clients/fence/fencetest"
)

// BenchmarkGuard puts one key again and again, bare and guarded in turn, on one member, which syncs each
// write to the disk.
func BenchmarkGuard(b *testing.B) {
	kv := connect(b, addr)
	g, c := mustNew(b, kv), claim(b, 1)
	key, value := "data/"+c.Resource, strings.Repeat("x", 100)
	bareWrite := func() error {
		_, err := kv.Put(b.Context(), key, value)
		return err
	}
	guardedWrite := func() error {
		_, err := g.Transact(b.Context(), c, put(key, value))
		return err
	}
	fencetest.Compare(b, bareWrite, func() error {
		c.Token++
		return guardedWrite()
	})
}
