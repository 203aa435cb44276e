package stand

import "testing"

// Must ends the test if there is an error.
func Must(tb testing.TB, err error) {
	tb.Helper()
	if err != nil {
		tb.Fatal(err)
	}
}

// Value returns what a function has returned, and ends the test if that has failed: Value(f())(t).
func Value[V any](v V, err error) func(testing.TB) V {
	return func(tb testing.TB) V {
		tb.Helper()
		Must(tb, err)
		return v
	}
}
