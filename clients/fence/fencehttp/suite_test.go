package fencehttp_test

import (
	"testing"

	"github.com/holdfast-io/holdfast/clients/fence"
	"github.com/holdfast-io/holdfast/clients/fence/fencefile"
	"github.com/holdfast-io/holdfast/clients/fence/fencehttp"
	"github.com/holdfast-io/holdfast/clients/fence/fencetest"
)

// TestSuite sends requests to a server whose handler writes to a guarded directory. Middleware and store
// have the marks in common.
func TestSuite(t *testing.T) {
	dir := t.TempDir()
	fencetest.Run(t, fencetest.Subject{
		Open: func(tb testing.TB, rule fence.Rule) fencetest.Register {
			tb.Helper()
			// Under Once the middleware spends the token, and the store lets the same one pass.
			guard := fencehttp.New(mustOpen(tb, dir, fencefile.WithRule(rule)))
			return mustServe(tb, guard(&orders{dir, mustOpen(tb, dir)}))
		},
		Observed: func(tb testing.TB, o fence.Observer) fencetest.Register {
			tb.Helper()
			guard := fencehttp.New(mustOpen(tb, dir), fencehttp.WithObserver(o))
			return mustServe(tb, guard(&orders{dir, mustOpen(tb, dir)}))
		},
		Through: func(tb testing.TB, rule fence.Rule, via func(string) string) fencetest.Register {
			tb.Helper()
			guard := fencehttp.New(mustOpen(tb, dir, fencefile.WithRule(rule)))
			return mustServe(tb, guard(&orders{dir, mustOpen(tb, dir)})).through(tb, via)
		},
		Marks: func(tb testing.TB, rule fence.Rule) fence.Marks {
			tb.Helper()
			return mustOpen(tb, dir, fencefile.WithRule(rule))
		},
		Restart: func(testing.TB) {}, // every register has a server of its own
	})
}
