//go:build linux

package linux_test

import (
	"errors"
	"net"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/coreos/go-systemd/v22/unit"
	"golang.org/x/sys/unix"
)

const (
	unitFile = "/usr/lib/systemd/system/holdfast.service"
	// watchdog is shorter than that of the unit, which a test would wait for.
	watchdog = "200000"
)

// service is a run of the unit as systemd would start it: its command, its user and its state directory. The settings
// that confine the process are not applied; wantAllowed compares two of them with what the process does.
type service struct {
	cmd    *exec.Cmd
	socket *net.UnixConn
	output strings.Builder // complete when ended is closed
	ended  chan struct{}
	err    error // how the process ended
}

// start starts the unit and returns when it has reported that it is ready. wrapper is put before its command.
func (m *machine) start(t *testing.T, wrapper ...string) *service {
	t.Helper()
	u := m.unit(t)
	if u["Type"] != "notify" || u["WatchdogSec"] == "" {
		t.Fatalf("the unit does not ask for reports: %v", u)
	}
	user := m.user(t, u["User"])
	state := "/var/lib/" + u["StateDirectory"]
	mode, err := strconv.ParseUint(u["StateDirectoryMode"], 8, 32)
	must(t, err)
	must(t, os.MkdirAll(m.path(state), os.FileMode(mode)))
	must(t, os.Chown(m.path(state), int(user), int(user)))

	socket, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: m.path("/run/notify"), Net: "unixgram"})
	must(t, err)
	must(t, os.Chmod(m.path("/run/notify"), 0o666))
	s := &service{socket: socket, ended: make(chan struct{})}
	command := slices.Concat(wrapper, strings.Fields(u["ExecStart"]))
	s.cmd = m.command(t, user, command[0], command[1:]...)
	s.cmd.Dir = u["WorkingDirectory"]
	s.cmd.Env = append(s.cmd.Env, "NOTIFY_SOCKET=/run/notify", "WATCHDOG_USEC="+watchdog)
	s.cmd.Stdout, s.cmd.Stderr = &s.output, &s.output
	must(t, s.cmd.Start())
	go func() {
		s.err = s.cmd.Wait()
		close(s.ended)
		_ = socket.SetReadDeadline(time.Now()) // ends the wait for a report
	}()
	s.await(t, "READY=1")
	return s
}

// await reads reports until one of them is want.
func (s *service) await(t *testing.T, want string) {
	t.Helper()
	for report := ""; report != want; {
		var err error
		if report, err = s.next(); err != nil {
			<-s.ended
			t.Fatalf("the service has not reported %s: %v, %v\n%s", want, err, s.err, &s.output)
		}
	}
}

// next returns the next report; of a process that has ended, those that it has left behind.
func (s *service) next() (string, error) {
	report := make([]byte, 100)
	n, err := s.socket.Read(report)
	if errors.Is(err, os.ErrDeadlineExceeded) {
		raw, rawErr := s.socket.SyscallConn()
		if rawErr != nil {
			return "", rawErr
		}
		rawErr = raw.Control(func(fd uintptr) { n, _, err = unix.Recvfrom(int(fd), report, unix.MSG_DONTWAIT) })
		err = errors.Join(err, rawErr)
	}
	return string(report[:max(n, 0)]), err
}

// stop stops the service as systemd does, and fails unless it says so and ends well.
func (s *service) stop(t *testing.T) {
	t.Helper()
	must(t, s.cmd.Process.Signal(syscall.SIGTERM))
	s.await(t, "STOPPING=1")
	if <-s.ended; s.err != nil {
		t.Fatalf("%v\n%s", s.err, &s.output)
	}
	must(t, s.socket.Close())
	must(t, os.Remove(s.socket.LocalAddr().String()))
}

// unit returns the settings of the unit's section Service; of those that occur twice, a line for each value.
func (m *machine) unit(t *testing.T) map[string]string {
	t.Helper()
	f, err := os.Open(m.path(unitFile))
	must(t, err)
	defer f.Close()
	options, err := unit.DeserializeOptions(f)
	must(t, err)
	settings := map[string]string{}
	for _, o := range options {
		if o.Section == "Service" {
			settings[o.Name] = strings.TrimSpace(settings[o.Name] + "\n" + o.Value)
		}
	}
	return settings
}

func (m *machine) user(t *testing.T, name string) uint32 {
	t.Helper()
	id, err := strconv.ParseUint(strings.TrimSpace(m.run(t, "id", "--user", name)), 10, 32)
	must(t, err)
	if id == 0 {
		t.Fatal("the unit runs as root")
	}
	return uint32(id)
}
