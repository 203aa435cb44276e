package watch_test

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// server is a real process of the real binary, which can be killed and started again.
type server struct {
	t           *testing.T
	data, where string
	args        func() []string
	cmd         *exec.Cmd
}

// binary is holdfast as users have it, built once for all tests.
var binary string

func TestMain(m *testing.M) { os.Exit(withBinary(m.Run)) }

func withBinary(run func() int) int {
	dir, err := os.MkdirTemp("", "holdfast-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer func() { _ = os.RemoveAll(dir) }()
	binary = filepath.Join(dir, "holdfast")
	build := exec.Command("go", "build", "-buildvcs=false", "-o", binary, "github.com/holdfast-io/holdfast/cmd/holdfast")
	if out, err := build.CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "build holdfast: %v\n%s", err, out)
		return 1
	}
	return run()
}

// startServer starts a server.
func startServer(t *testing.T, more ...string) *server {
	t.Helper()
	s := &server{t: t, data: t.TempDir(), where: "127.0.0.1:0"}
	s.args = func() []string { return append([]string{"--listen", s.where, "--data", s.data}, more...) }
	s.start()
	t.Cleanup(s.kill)
	return s
}

// startServerFor starts a server of one shard that only these users may log in to, the first of whom is
// the node.
func startServerFor(t *testing.T, users string) *server {
	t.Helper()
	s := &server{t: t, data: t.TempDir()}
	file := filepath.Join(s.data, "nats.conf")
	text := fmt.Sprintf("listen: \"127.0.0.1:-1\"\nserver_name: one\njetstream { store_dir: %q, sync_interval: always }\nauthorization { users: [\n%s\n] }\n",
		filepath.Join(s.data, "store"), users)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	s.args = func() []string {
		return []string{"--nats-config", file, "--user", "node", "--password", "pass", "--shards", "1"}
	}
	s.start()
	t.Cleanup(s.kill)
	return s
}

// start returns when the server is ready.
func (s *server) start() {
	s.t.Helper()
	s.cmd = exec.Command(binary, append([]string{"serve", "--history", "10000000", "--log-level", "error"}, s.args()...)...)
	s.cmd.Env, s.cmd.Stderr = []string{"HOME=" + s.data, "PATH=" + os.Getenv("PATH")}, os.Stderr
	out, err := s.cmd.StdoutPipe()
	if err != nil {
		s.t.Fatal(err)
	}
	if err := s.cmd.Start(); err != nil {
		s.t.Fatal(err)
	}
	ready, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		s.t.Fatalf("the server is not ready: %v", err)
	}
	s.where = strings.TrimPrefix(regexp.MustCompile(`nats://[^,\s]+`).FindString(ready), "nats://")
}

func (s *server) url() string { return "nats://" + s.where }

// login is the address for one of its users.
func (s *server) login(user string) string { return "nats://" + user + ":pass@" + s.where }

// kill ends the process without a warning. It may be dead already.
func (s *server) kill() {
	_ = s.cmd.Process.Kill()
	_ = s.cmd.Wait() // it says that it was killed
}
