//go:build linux

package linux_test

import (
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// tracer runs a command as the process that was started, and writes the system calls of all its threads to traceFile.
var tracer = []string{"strace", "-D", "-f", "-qq", "-o", traceFile}

const traceFile = "/tmp/trace"

var (
	systemCall = regexp.MustCompile(`(?m)^\d+ +([a-z0-9_]+)\(`)
	created    = regexp.MustCompile(`openat\([^"]*"([^"]+)", [A-Z_|]*O_CREAT`)
)

// wantAllowed fails if the traced service has made a system call that the unit's filter refuses, or has created a file
// where ProtectSystem refuses it.
func (m *machine) wantAllowed(t *testing.T) {
	t.Helper()
	allowed := m.allowed(t)
	trace, err := os.ReadFile(m.path(traceFile))
	must(t, err)
	made := map[string]bool{}
	for _, call := range systemCall.FindAllSubmatch(trace, -1) {
		made[string(call[1])] = true
	}
	if !made["fsync"] || !made["sendto"] && !made["write"] {
		t.Fatalf("the trace does not show a service at work: %v", slices.Sorted(maps.Keys(made)))
	}
	for _, call := range slices.Sorted(maps.Keys(made)) {
		if !allowed[call] {
			t.Errorf("the service calls %s, which the unit refuses", call)
		}
	}
	files := created.FindAllSubmatch(trace, -1)
	if len(files) == 0 {
		t.Error("the trace does not show a service that creates files")
	}
	for _, file := range files {
		if !strings.HasPrefix(string(file[1]), data+"/") {
			t.Errorf("the service creates %s, outside of its state directory", file[1])
		}
	}
	t.Logf("the filter allows all of %v", slices.Sorted(maps.Keys(made)))
}

// allowed returns the system calls that the unit allows: what is always allowed and the sets of its filter, less those
// after a tilde.
func (m *machine) allowed(t *testing.T) map[string]bool {
	t.Helper()
	cmd := m.command(t, 0, "systemd-analyze", "syscall-filter")
	out, err := cmd.Output()
	must(t, err)
	sets, set := map[string][]string{}, ""
	for line := range strings.Lines(string(out)) {
		name := strings.TrimSpace(line)
		switch {
		case strings.HasPrefix(line, "@"):
			set = name
		case name != "" && !strings.HasPrefix(name, "#"):
			sets[set] = append(sets[set], name)
		}
	}
	allowed := map[string]bool{}
	var apply func(name string, allow bool)
	apply = func(name string, allow bool) {
		if !strings.HasPrefix(name, "@") {
			allowed[name] = allow
		}
		for _, part := range sets[name] {
			apply(part, allow)
		}
	}
	for _, line := range strings.Split("@default\n"+m.unit(t)["SystemCallFilter"], "\n") {
		names, refused := strings.CutPrefix(line, "~") // of all in the line
		for _, name := range strings.Fields(names) {
			apply(name, !refused)
		}
	}
	return allowed
}
