//go:build linux

// Package image_test runs the image as a container runtime does, with buildah, which needs neither a registry nor a
// daemon.
package image_test

import (
	"bufio"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
)

var dist = flag.String("dist", "",
	"`directory` with the image that make package has built; without it the tests are skipped")

// storage has containers of its own, so that the test leaves none behind.
type storage struct{ dir string }

func (s storage) command(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	args = append([]string{"--root", s.dir + "/storage", "--runroot", s.dir + "/run", "--storage-driver", "vfs"},
		args...)
	return exec.CommandContext(t.Context(), "buildah", args...)
}

func (s storage) run(t *testing.T, args ...string) string {
	t.Helper()
	out, err := s.command(t, args...).CombinedOutput()
	if err != nil {
		t.Fatalf("buildah %q: %v\n%s", args, err, out)
	}
	return strings.TrimSpace(string(out))
}

var ready = regexp.MustCompile(`ready: NATS at (nats://\S+),`)

// A container of the image serves as its own user, which may write to /data, and stops at SIGTERM.
func TestImage(t *testing.T) {
	if *dist == "" {
		t.Skip("this test needs a built image; run it by make package-check")
	}
	if os.Geteuid() != 0 {
		t.Skip("this test runs a container; run it as root")
	}
	images, err := filepath.Glob(filepath.Join(*dist, "holdfast_*_image.oci.tar"))
	if err != nil || len(images) != 1 {
		t.Fatalf("%s has the images %q, %v, want one", *dist, images, err)
	}
	s := storage{t.TempDir()}
	container := s.run(t, "from", "--quiet", "oci-archive:"+images[0])
	name := s.run(t, "images", "--format", "{{.Name}}:{{.Tag}}")
	if _, version, _ := strings.Cut(filepath.Base(images[0]), "_"); name != "ghcr.io/holdfast-io/holdfast:"+
		strings.ReplaceAll(strings.TrimSuffix(version, "_image.oci.tar"), "+", "_") {
		t.Errorf("%s is loaded as %s", images[0], name)
	}

	serve := s.command(t, "run", "--isolation", "chroot", container, "--", "/usr/bin/holdfast", "serve", "--listen",
		"127.0.0.1:0")
	serve.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	var log strings.Builder
	serve.Stderr = &log
	stdout, err := serve.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := serve.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = syscall.Kill(-serve.Process.Pid, syscall.SIGKILL) })
	var url string
	lines := bufio.NewScanner(stdout)
	for url == "" && lines.Scan() {
		if m := ready.FindStringSubmatch(lines.Text()); m != nil {
			url = m[1]
		}
	}
	if url == "" {
		t.Fatalf("the container is not ready: %v\n%s", serve.Wait(), &log)
	}
	out := s.run(t, "run", "--isolation", "chroot", container, "--", "/usr/bin/holdfast", "acquire", "orders.1",
		"--owner", "me", "--ttl", "1m", "--server", url)
	if !strings.Contains(out, "token 1") {
		t.Errorf("acquired with %q", out)
	}
	node := innermost(t, serve.Process.Pid) // buildah does not pass signals on
	info, err := os.Stat(fmt.Sprintf("/proc/%d", node))
	if err != nil {
		t.Fatal(err)
	}
	if user := info.Sys().(*syscall.Stat_t).Uid; user != 65532 {
		t.Errorf("the node runs as the user %d, want 65532", user)
	}
	if err := syscall.Kill(node, syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	for lines.Scan() { // to its end, before Wait closes it
	}
	if err := serve.Wait(); err != nil || !strings.Contains(log.String(), "stopping") {
		t.Errorf("stopped with %v\n%s", err, &log)
	}
}

// innermost returns the process at the end of the chain of children that begins at a process.
func innermost(t *testing.T, process int) int {
	t.Helper()
	lists, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", process)) // of each thread
	if err != nil || len(lists) == 0 {
		t.Fatalf("the process %d has ended: %v", process, err)
	}
	for _, list := range lists {
		var child int
		if text, err := os.ReadFile(list); err == nil {
			if _, err := fmt.Sscan(string(text), &child); err == nil {
				return innermost(t, child)
			}
		}
	}
	return process
}
