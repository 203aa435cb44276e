//go:build linux

package linux_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// machine is a copy of this machine's system that a package may change: an overlay over its files, with a loopback
// network of its own. It belongs to the thread of the test, and the kernel removes it with the thread. So a test uses
// it from its own goroutine only, and has no subtests.
type machine struct{ root string }

func newMachine(t *testing.T) *machine {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("this test installs packages in a copy of this system; run it as root")
	}
	if _, err := exec.LookPath("dpkg"); err != nil {
		t.Skip("this test installs a deb; run it on Debian or one of its derivatives")
	}
	dir := t.TempDir()
	runtime.LockOSThread() // and never unlock it
	must(t, unix.Unshare(unix.CLONE_NEWNS|unix.CLONE_NEWNET|unix.CLONE_FS))
	must(t, unix.Mount("", "/", "", unix.MS_PRIVATE|unix.MS_REC, ""))
	must(t, unix.Mount("tmpfs", dir, "tmpfs", 0, ""))
	t.Cleanup(func() { must(t, unix.Unmount(dir, unix.MNT_DETACH)) })
	m := &machine{root: filepath.Join(dir, "root")}
	for _, name := range []string{"root", "changes", "work"} {
		must(t, os.Mkdir(filepath.Join(dir, name), 0o755))
	}
	must(t, unix.Mount("overlay", m.root, "overlay", 0,
		fmt.Sprintf("lowerdir=/,upperdir=%s/changes,workdir=%[1]s/work", dir)))
	for _, name := range []string{"/proc", "/dev"} {
		must(t, unix.Mount(name, m.path(name), "", unix.MS_BIND|unix.MS_REC, ""))
	}
	for _, name := range []string{"/run", "/tmp"} {
		must(t, unix.Mount("tmpfs", m.path(name), "tmpfs", 0, ""))
	}
	m.run(t, "ip", "link", "set", "lo", "up")
	return m
}

// path returns where a file of the machine is for this process.
func (m *machine) path(name string) string { return filepath.Join(m.root, name) }

func (m *machine) has(name string) bool {
	_, err := os.Lstat(m.path(name))
	return err == nil
}

// command returns a command that runs on the machine as a user, root is 0.
func (m *machine) command(t *testing.T, user uint32, name string, args ...string) *exec.Cmd {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "/usr/bin/env", append([]string{name}, args...)...)
	cmd.Dir = "/"
	cmd.Env = []string{"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
		"DEBIAN_FRONTEND=noninteractive", "LC_ALL=C"}
	cmd.SysProcAttr = &syscall.SysProcAttr{Chroot: m.root, Credential: &syscall.Credential{Uid: user, Gid: user},
		Pdeathsig: syscall.SIGKILL}
	return cmd
}

// run runs a command as root and returns all of its output.
func (m *machine) run(t *testing.T, name string, args ...string) string {
	t.Helper()
	out, err := m.command(t, 0, name, args...).CombinedOutput()
	if err != nil {
		t.Fatalf("%s %q: %v\n%s", name, args, err, out)
	}
	return string(out)
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
