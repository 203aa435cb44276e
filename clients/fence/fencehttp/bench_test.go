package fencehttp_test

import (
	"net/http"
	"testing"

	"github.com/holdfast-io/holdfast/clients/fence"
	"github.com/holdfast-io/holdfast/clients/fence/fencehttp"
	"github.com/holdfast-io/holdfast/clients/fence/fencetest"
)

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
	fencetest.Compare(b,
		func() error { return bare.Write(b.Context(), claim(34), "shipped") },
		func() error { return guarded.Write(b.Context(), claim(34), "shipped") })
}
