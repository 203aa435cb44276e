package stand

import (
	"os"
	"os/exec"
	"regexp"
	"syscall"
	"testing"
	"time"

	"github.com/holdfast-io/holdfast/messages/porttest"
)

// Member is one node. A test may stop, kill and start it again; its name, addresses and data stay.
type Member struct {
	Name string // n1, n2, ...
	URL  string // for clients
	Data string
	// Args are what it is started with. A test may change them before it starts the node.
	Args []string
	// Binary is what it runs; empty: that of [Binary].
	Binary string
	// Env are more variables of its environment, NAME=VALUE.
	Env []string

	tb      testing.TB
	process *exec.Cmd
	ended   chan struct{}
	lives   []*Lines // what it has written in each
}

// StartAlone starts a node without others and returns when it is ready. args are more flags. It ends with
// the test.
func StartAlone(tb testing.TB, args ...string) *Member {
	tb.Helper()
	m := NewAlone(tb, args...)
	m.Start()
	m.WaitReady()
	return m
}

// NewAlone returns a node without others that is still to be started.
func NewAlone(tb testing.TB, args ...string) *Member {
	tb.Helper()
	m := newMember(tb, "n1", porttest.Free(tb, 1)[0])
	m.Args = append(m.Args, args...)
	return m
}

func newMember(tb testing.TB, name, address string) *Member {
	tb.Helper()
	m := &Member{tb: tb, Name: name, URL: "nats://" + address, Data: tb.TempDir()}
	m.Args = []string{"serve", "--name", name, "--listen", address, "--data", m.Data}
	return m
}

// Start starts the process and does not wait until it is ready.
func (m *Member) Start() {
	m.tb.Helper()
	if m.Binary == "" {
		m.Binary = Binary(m.tb)
	}
	cmd, ended := exec.Command(m.Binary, m.Args...), make(chan struct{})
	// No settings of this process, and no warning that the default port for HTTP is in use.
	cmd.Env = append([]string{"HOME=" + os.TempDir(), "PATH=" + os.Getenv("PATH"), "HOLDFAST_HTTP=127.0.0.1:0"},
		m.Env...)
	life := &Lines{}
	cmd.Stdout, cmd.Stderr, m.lives = life, life, append(m.lives, life)
	if err := cmd.Start(); err != nil {
		m.tb.Fatal(err)
	}
	if m.process == nil {
		m.tb.Cleanup(m.end)
	}
	m.process, m.ended = cmd, ended
	go func() {
		_ = cmd.Wait()
		close(ended)
	}()
}

// end kills what still runs when the test is over, and shows what every life of the node has written if
// the test has failed.
func (m *Member) end() {
	_ = m.process.Process.Kill()
	<-m.ended
	if m.tb.Failed() {
		m.tb.Logf("log of %s:\n%s", m.Name, m.lives)
	}
}

// WaitReady returns when the node takes locks.
func (m *Member) WaitReady() {
	m.tb.Helper()
	m.WaitLog("Holdfast is ready")
}

// WaitLog returns when the node has written a line with this text, since it was last started.
func (m *Member) WaitLog(text string) {
	m.tb.Helper()
	m.lives[len(m.lives)-1].WaitFor(m.tb, m.ended, text)
}

// HTTP returns the host and port where the node, which is ready, serves HTTP.
func (m *Member) HTTP() string {
	m.tb.Helper()
	line := m.lives[len(m.lives)-1].WaitFor(m.tb, m.ended, "/metrics")
	return regexp.MustCompile(`http://([^/]+)/metrics`).FindStringSubmatch(line)[1]
}

// Stop asks the node to stop, and returns when it has done so cleanly.
func (m *Member) Stop() {
	m.tb.Helper()
	m.signal(syscall.SIGTERM)
	if m.wait(); m.process.ProcessState.ExitCode() != 0 {
		m.tb.Errorf("%s was asked to stop and ended with %v", m.Name, m.process.ProcessState)
	}
}

// Reload has the node read its files again, and returns when it has said so for the first time since it was started.
func (m *Member) Reload() {
	m.tb.Helper()
	m.signal(syscall.SIGHUP)
	m.WaitLog("msg=reloaded what=NATS")
}

// Kill ends the node without a warning.
func (m *Member) Kill() {
	m.tb.Helper()
	m.signal(syscall.SIGKILL)
	m.wait()
}

// Restart starts the node again, after [Member.Stop] or [Member.Kill], and waits until it is ready.
func (m *Member) Restart() {
	m.tb.Helper()
	m.Start()
	m.WaitReady()
}

func (m *Member) signal(s syscall.Signal) {
	m.tb.Helper()
	if err := m.process.Process.Signal(s); err != nil {
		m.tb.Fatalf("%s: %v", m.Name, err)
	}
}

// Pid returns the process id of the node, which has to run.
func (m *Member) Pid() int { return m.process.Process.Pid }

// Written returns what the node has written, on both streams, since it was last started.
func (m *Member) Written() string { return m.lives[len(m.lives)-1].String() }

func (m *Member) wait() {
	m.tb.Helper()
	select {
	case <-m.ended:
	case <-time.After(patience):
		m.tb.Fatalf("%s has not ended within %v", m.Name, patience)
	}
}
