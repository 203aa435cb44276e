package fencetest

import (
	"testing"
	"time"
)

// block is how many writes of one kind stand together.
const block = 10

// Compare measures what a write costs without and with its guard. Blocks of both take turns, each kind
// first every other time, so that what else the machine does slows both alike. It reports microseconds
// of each, and their ratio.
func Compare(b *testing.B, bare, guarded func() error) {
	b.Helper()
	var spent [2]time.Duration
	writes := [2]func() error{bare, guarded}
	n := 0
	for b.Loop() {
		for _, i := range []int{0, 1, 1, 0} {
			start := time.Now()
			for range block {
				if err := writes[i](); err != nil {
					b.Fatal(err)
				}
			}
			spent[i] += time.Since(start)
		}
		n += 2 * block
	}
	perWrite := func(d time.Duration) float64 { return float64(d.Nanoseconds()) / 1000 / float64(n) }
	b.ReportMetric(0, "ns/op") // of four blocks: no result
	b.ReportMetric(perWrite(spent[0]), "bare-µs/op")
	b.ReportMetric(perWrite(spent[1]), "guarded-µs/op")
	b.ReportMetric(float64(spent[1])/float64(spent[0]), "x-bare")
}
