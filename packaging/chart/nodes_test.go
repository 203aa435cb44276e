//go:build linux

package chart_test

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// The commands and settings that the chart renders form a cluster. Each pod has a loopback address instead of its own,
// and its names and folders are replaced by those of this machine.
func TestNodes(t *testing.T) {
	if testing.Short() {
		t.Skip("this test starts three nodes")
	}
	program := filepath.Join(t.TempDir(), "holdfast")
	run(t, "go", "build", "-C", "../..", "-buildvcs=false", "-o", program, "./cmd/holdfast")
	r, err := render(t, open)
	must(t, err)
	names := []string{}
	for n := range int(*r.nodes.Spec.Replicas) {
		names = append(names, fmt.Sprintf("hf-%d.hf-nodes:", n), address(n)+":")
	}
	container := r.nodes.Spec.Template.Spec.Containers[0]
	settings := strings.NewReplacer(names...).Replace(r.settings.Data["holdfast.yaml"])

	var ready []func() bool
	for n := range int(*r.nodes.Spec.Replicas) {
		dir := t.TempDir()
		own := strings.NewReplacer("0.0.0.0:", address(n)+":", "/data", filepath.Join(dir, "data")).Replace(settings)
		file := filepath.Join(dir, "holdfast.yaml")
		must(t, os.WriteFile(file, []byte(own), 0o600))
		arguments := strings.NewReplacer("/etc/holdfast/holdfast.yaml", file, "$(POD_NAME)", fmt.Sprintf("hf-%d", n))
		var args []string
		for _, a := range container.Args {
			args = append(args, arguments.Replace(a))
		}
		ready = append(ready, start(t, program, args))
	}
	for n, isReady := range ready {
		if !isReady() {
			t.Fatalf("node %d is not ready", n)
		}
	}
	for n := range ready {
		out := run(t, program, "acquire", fmt.Sprint("orders.", n), "--owner", "me", "--ttl", "1m", "--server", "nats://"+address(n)+":4222")
		if !strings.Contains(out, "token 1") {
			t.Errorf("node %d: %s", n, out)
		}
	}
}

// address is that of a node; nothing else listens on it.
func address(n int) string { return fmt.Sprintf("127.46.%d.%d", os.Getpid()%256, n+2) }

// start starts a node, which is killed at the end of the test. isReady waits until it is ready or has ended.
func start(t *testing.T, program string, args []string) (isReady func() bool) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), program, args...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	var log strings.Builder
	cmd.Stderr = &log
	stdout, err := cmd.StdoutPipe()
	must(t, err)
	must(t, cmd.Start())
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		if t.Failed() {
			t.Logf("%q:\n%s", args, &log)
		}
	})
	return func() bool {
		lines := bufio.NewScanner(stdout)
		for lines.Scan() {
			if strings.Contains(lines.Text(), "Holdfast is ready") {
				return true
			}
		}
		return false
	}
}

// run returns the output of a command.
func run(t *testing.T, name string, args ...string) string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), name, args...).CombinedOutput()
	if err != nil {
		t.Fatalf("%s %q: %v\n%s", name, args, err, out)
	}
	return string(out)
}
