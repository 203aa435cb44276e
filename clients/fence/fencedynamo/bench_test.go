package fencedynamo_test

import (
	"testing"

	"github.com/holdfast-io/holdfast/clients/fence"
	"github.com/holdfast-io/holdfast/clients/fence/fencetest"
)

// BenchmarkGuard compares an update with the same one under a guard, in turns.
func BenchmarkGuard(b *testing.B) {
	client, table := connect(dynalite.Addr), makeTable(b)
	guard, c := mustGuard(b, client), fence.Claim{Resource: "r", Token: 1}
	fencetest.Compare(b, func() error { return failure(client.UpdateItem(b.Context(), update(table, "bare", "x"))) },
		func() error {
			c.Token++
			return failure(guard.Update(b.Context(), c, update(table, "guarded", "x")))
		})
}
