package fencetest

import (
	"errors"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
)

// PostgreSQL returns a server of PostgreSQL with a store of its own, which the user postgres reaches without a
// password. It lacks Ready, since that needs a driver.
func PostgreSQL(tb testing.TB) Server {
	tb.Helper()
	bin := Debian("postgres", "/usr/lib/postgresql/*/bin")
	dir, credential := tb.TempDir(), unprivileged(tb)
	if credential != nil {
		give(tb, dir, credential)
	}
	if _, err := exec.LookPath(bin); err == nil {
		initdb := exec.Command(filepath.Join(filepath.Dir(bin), "initdb"), "-D", dir, "-U", "postgres",
			"--auth=trust", "--encoding=UTF8", "--locale=C", "--no-sync")
		as(initdb, dir, credential)
		if output, err := initdb.CombinedOutput(); err != nil {
			tb.Fatalf("%v: %v\n%s", initdb, err, output)
		}
	}
	return Server{
		Program: bin,
		Install: "bash .ci/servers",
		Command: func(addr string) *exec.Cmd {
			_, port, _ := net.SplitHostPort(addr)
			cmd := exec.Command(bin, "-D", dir, "-h", "127.0.0.1", "-p", port, "-c", "unix_socket_directories=",
				"-c", "max_connections=300") // each guard in another language has a pool of its own
			as(cmd, dir, credential)
			return cmd
		},
	}
}

// Debian returns where a program is that Debian keeps out of the PATH, or its name if it is nowhere.
func Debian(program, folders string) string {
	if path, err := exec.LookPath(program); err == nil {
		return path
	}
	found, _ := filepath.Glob(filepath.Join(folders, program)) // the pattern is good
	if len(found) == 0 {
		return program
	}
	return found[len(found)-1]
}

// unprivileged returns as whom to run what refuses to run as root; nil if the test does not run as root.
func unprivileged(tb testing.TB) *syscall.Credential {
	tb.Helper()
	if os.Geteuid() != 0 {
		return nil
	}
	u, err := user.Lookup("postgres")
	if err != nil {
		u, err = user.Lookup("nobody")
	}
	if err != nil {
		tb.Fatal(err)
	}
	uid, uidErr := strconv.ParseUint(u.Uid, 10, 32)
	gid, gidErr := strconv.ParseUint(u.Gid, 10, 32)
	if err := errors.Join(uidErr, gidErr); err != nil {
		tb.Fatal(err)
	}
	return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
}

// give makes another user the owner of the test's folder; the one above it is closed to others.
func give(tb testing.TB, dir string, to *syscall.Credential) {
	tb.Helper()
	if err := errors.Join(os.Chmod(filepath.Dir(dir), 0o711), os.Chown(dir, int(to.Uid), int(to.Gid))); err != nil {
		tb.Fatal(err)
	}
}

// as lets the command run in dir and as another user.
func as(cmd *exec.Cmd, dir string, owner *syscall.Credential) {
	cmd.Dir = dir
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: owner}
}
