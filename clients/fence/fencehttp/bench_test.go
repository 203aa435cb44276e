package fencehttp_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/holdfast-io/holdfast/clients/fence"
	"github.com/holdfast-io/holdfast/clients/fence/fencehttp"
)

// block is how many writes of one kind stand together. The two kinds take turns, so that what else the
// machine does slows both.
const block = 10

// BenchmarkGuard compares requests to one handler, which writes to a guarded directory, without the
// middleware and with it.
func BenchmarkGuard(b *testing.B) {
	dir := b.TempDir()
	store := mustOpen(b, dir)
	next := &orders{dir, store}
	bare := mustServe(b, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		next.ServeHTTP(w, r.WithContext(fence.NewContext(r.Context(), claim(34))))
	}))
	guarded := mustServe(b, fencehttp.New(store)(next))
	compare(b,
		func() error { return bare.Write(b.Context(), claim(34), "shipped") },
		func() error { return guarded.Write(b.Context(), claim(34), "shipped") })
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
