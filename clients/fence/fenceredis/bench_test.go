package fenceredis_test

import (
	"strings"
	"testing"

	"github.com/holdfast-io/holdfast/clients/fence/fencetest"
)

// BenchmarkGuard sets one key again and again, bare and guarded in turn, on a server that syncs each
// write to the disk.
func BenchmarkGuard(b *testing.B) {
	rdb := connect(b)
	g, c, value := mustNew(b, rdb), claim(b, 1), strings.Repeat("x", 100)
	bareWrite := func() error { return rdb.Set(b.Context(), c.Resource, value, 0).Err() }
	guardedWrite := func() error { return g.Set(b.Context(), c, c.Resource, value, 0) }
	fencetest.Compare(b, bareWrite, func() error {
		c.Token++
		return guardedWrite()
	})
}
