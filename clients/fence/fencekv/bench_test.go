package fencekv_test

import (
	"testing"
	"time"
)

// block is how many writes of one kind stand together. The two kinds take turns, so that what else the
// machine does slows both.
const block = 10

// BenchmarkGuard compares Put of the bucket itself with Put of its guard, on one server that syncs each
// message to disk.
func BenchmarkGuard(b *testing.B) {
	orders, kv, _ := mustOpen(b)
	value := make([]byte, 256)
	compare(b,
		func() error { _, err := kv.Put(b.Context(), "bare", value); return err },
		func() error { _, err := orders.Put(b.Context(), claim(34), value); return err })
}

// compare reports what a write costs without and with its guard, and their ratio.
func compare(b *testing.B, bare, guarded func() error) {
	b.Helper()
	var spent [2]time.Duration
	n := 0
	for b.Loop() {
		for i, write := range []func() error{bare, guarded} {
			start := time.Now()
			for range block {
				if err := write(); err != nil {
					b.Fatal(err)
				}
			}
			spent[i] += time.Since(start)
		}
		n += block
	}
	perWrite := func(d time.Duration) float64 { return float64(d.Nanoseconds()) / 1000 / float64(n) }
	b.ReportMetric(0, "ns/op") // of two blocks: tells nobody anything
	b.ReportMetric(perWrite(spent[0]), "bare-µs/op")
	b.ReportMetric(perWrite(spent[1]), "guarded-µs/op")
	b.ReportMetric(float64(spent[1])/float64(spent[0]), "x-bare")
}
