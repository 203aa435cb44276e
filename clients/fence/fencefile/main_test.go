package fencefile_test

import (
	"errors"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/holdfast-io/holdfast/clients/fence"
	"github.com/holdfast-io/holdfast/clients/fence/fencefile"
)

// TestMain lets the test binary play the processes that tests start and kill.
func TestMain(m *testing.M) {
	if role := os.Getenv(roleEnv); role != "" {
		if err := play(role, os.Getenv(dirEnv)); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

// patience bounds every wait. Nothing is measured by it.
const patience = time.Minute

func claim(token fence.Token) fence.Claim {
	return fence.Claim{Resource: "orders.42", Token: token}
}

func mustOpen(tb testing.TB, dir string, opts ...fencefile.Option) *fencefile.Dir {
	tb.Helper()
	d, err := fencefile.Open(dir, opts...)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := d.Close(); err != nil {
			tb.Error(err)
		}
	})
	return d
}

// fileName is the one guarded file of most tests.
const fileName = "order"

func mustWrite(tb testing.TB, d *fencefile.Dir, token fence.Token, content string) {
	tb.Helper()
	if err := d.Write(tb.Context(), claim(token), fileName, []byte(content), 0o644); err != nil {
		tb.Fatal(err)
	}
}

func wantContent(tb testing.TB, path, want string) {
	tb.Helper()
	got, err := os.ReadFile(path)
	if err != nil {
		tb.Fatal(err)
	}
	if string(got) != want {
		tb.Errorf("%s has %q, want %q", path, got, want)
	}
}

func wantError(tb testing.TB, err, kind error) {
	tb.Helper()
	if !errors.Is(err, kind) {
		tb.Errorf("error %v, want %v", err, kind)
	}
}
