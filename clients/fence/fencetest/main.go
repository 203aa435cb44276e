package fencetest

import (
	"context"
	"fmt"
	"io"
	"os"
	"slices"
	"testing"
)

// Main runs the tests of a package that share a server, which start starts: it is the body of TestMain.
// Examples can use that server too. Of the methods of a test, start's has those by which things are set
// up and cleared away.
func Main(m *testing.M, start func(tb testing.TB)) int {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	l := &lifetime{ctx: ctx}
	defer l.end()
	start(l)
	return m.Run()
}

// lifetime is the testing.TB of what outlives a single test. To fail is to panic.
type lifetime struct {
	testing.TB
	ctx      context.Context
	cleanups []func()
}

// Helper implements testing.TB.
func (l *lifetime) Helper() {}

// Context implements testing.TB.
func (l *lifetime) Context() context.Context { return l.ctx }

// Cleanup implements testing.TB.
func (l *lifetime) Cleanup(f func()) { l.cleanups = append(l.cleanups, f) }

// Output implements testing.TB.
func (l *lifetime) Output() io.Writer { return os.Stderr }

// Logf implements testing.TB.
func (l *lifetime) Logf(format string, args ...any) { fmt.Fprintf(os.Stderr, format+"\n", args...) }

// Error implements testing.TB.
func (l *lifetime) Error(args ...any) { fmt.Fprintln(os.Stderr, args...) }

// Fatal implements testing.TB.
func (l *lifetime) Fatal(args ...any) { panic(fmt.Sprint(args...)) }

// Fatalf implements testing.TB.
func (l *lifetime) Fatalf(format string, args ...any) { panic(fmt.Sprintf(format, args...)) }

// TempDir implements testing.TB.
func (l *lifetime) TempDir() string {
	dir, err := os.MkdirTemp("", "fencetest-")
	if err != nil {
		l.Fatal(err)
	}
	l.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}

func (l *lifetime) end() {
	for _, f := range slices.Backward(l.cleanups) {
		f()
	}
}
