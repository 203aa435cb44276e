//go:build linux

// Package linux_test installs the deb in a copy of this machine, and uses it as an administrator does.
package linux_test

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

var dist = flag.String("dist", "",
	"`directory` with the packages that make package has built; without it the tests are skipped")

const (
	configFile = "/etc/holdfast/holdfast.yaml"
	secrets    = "/etc/holdfast/holdfast.env"
	data       = "/var/lib/holdfast"
)

// The package is installed, upgraded under a running service, removed with the data kept, and purged. The token of one
// resource shows that the data stays: it grows with each grant.
func TestDeb(t *testing.T) {
	first, second := built(t), newer(t)
	m := newMachine(t)
	m.run(t, "dpkg", "--install", copyTo(t, m, first))
	if out := m.run(t, "systemd-analyze", "verify", unitFile); out != "" {
		t.Errorf("systemd-analyze finds faults in the unit:\n%s", out)
	}
	m.run(t, "man", "--pager=cat", "holdfast-serve")
	m.run(t, "zgrep", "Changelog", "/usr/share/doc/holdfast/changelog.gz")
	s := m.start(t)
	s.await(t, "WATCHDOG=1")
	m.acquire(t, 1)
	m.release(t)

	appendTo(t, m.path(configFile), "max-ttl: 1h\n")
	must(t, os.WriteFile(m.path(secrets), []byte("HOLDFAST_PASSWORD=secret\n"), 0o600))
	before := m.run(t, "holdfast", "version")
	m.run(t, "dpkg", "--install", copyTo(t, m, second))
	if after := m.run(t, "holdfast", "version"); after == before {
		t.Errorf("after the upgrade the version is still %s", after)
	}
	m.acquire(t, 2) // of the running service, which the upgrade has left alone
	m.release(t)
	s.stop(t)
	s = m.start(t, tracer...)
	if out := m.run(t, "holdfast", "acquire", "orders.1", "--owner", "me", "--ttl", "1h"); !strings.Contains(out, "token 3") {
		t.Errorf("after the upgrade: %s", out)
	}
	if out, err := m.command(t, 0, "holdfast", "extend", "orders.1", "--owner", "me", "--ttl", "2h").CombinedOutput(); err == nil {
		t.Errorf("the upgrade has lost a changed setting: %s", out)
	}
	m.release(t)
	s.stop(t)
	m.wantAllowed(t)

	m.run(t, "dpkg", "--remove", "holdfast")
	m.wantFiles(t, map[string]bool{"/usr/bin/holdfast": false, unitFile: false, configFile: true, secrets: true,
		data: true})
	m.run(t, "dpkg", "--install", copyTo(t, m, first))
	s = m.start(t)
	m.acquire(t, 4)
	s.stop(t)

	m.run(t, "dpkg", "--purge", "holdfast")
	m.wantFiles(t, map[string]bool{"/usr/bin/holdfast": false, configFile: false, secrets: false, data: false})
}

func (m *machine) acquire(t *testing.T, token int) {
	t.Helper()
	out := m.run(t, "holdfast", "acquire", "orders.1", "--owner", "me", "--ttl", "1m")
	if want := fmt.Sprint("token ", token); !strings.Contains(out, want) {
		t.Fatalf("acquired with %q, want %s", out, want)
	}
}

func (m *machine) release(t *testing.T) {
	t.Helper()
	m.run(t, "holdfast", "release", "orders.1", "--owner", "me")
}

func (m *machine) wantFiles(t *testing.T, want map[string]bool) {
	t.Helper()
	for name, there := range want {
		if m.has(name) != there {
			t.Errorf("%s: exists %v, want %v", name, !there, there)
		}
	}
}

// built returns the deb of this machine's architecture in dist.
func built(t *testing.T) string {
	t.Helper()
	if *dist == "" {
		t.Skip("this test needs built packages; run it by make package-check")
	}
	return deb(t, *dist)
}

func deb(t *testing.T, dir string) string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(dir, "holdfast_*_linux_"+runtime.GOARCH+".deb"))
	must(t, err)
	if len(found) != 1 {
		t.Fatalf("%s has the debs %q, want one for %s", dir, found, runtime.GOARCH)
	}
	return found[0]
}

// newer builds the packages of a later version.
func newer(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "dist")
	cmd := exec.CommandContext(t.Context(), "go", "run", "./build", "-version", "v999.0.0", "-time", "1", "-targets",
		"linux/"+runtime.GOARCH, dir)
	cmd.Dir = ".."
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return deb(t, dir)
}

// copyTo copies a file to the folder /tmp of the machine and returns its name there.
func copyTo(t *testing.T, m *machine, from string) string {
	t.Helper()
	content, err := os.ReadFile(from)
	must(t, err)
	name := filepath.Join("/tmp", filepath.Base(from))
	must(t, os.WriteFile(m.path(name), content, 0o644))
	return name
}

func appendTo(t *testing.T, name, text string) {
	t.Helper()
	f, err := os.OpenFile(name, os.O_APPEND|os.O_WRONLY, 0)
	must(t, err)
	_, err = f.WriteString(text)
	must(t, err)
	must(t, f.Close())
}
