package takeover_test

import (
	"bufio"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/holdfast-io/holdfast/jetstream/embedded"
)

// serverEnv names the configuration file of the server that this process is to be.
const serverEnv = "HOLDFAST_TEST_SERVER"

// playServer is a NATS server until its standard input ends, which it does with the test at the latest.
func playServer(config string) error {
	s, err := embedded.Start(embedded.Config{ConfigFile: config, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		return err
	}
	_, _ = fmt.Fprintln(os.Stdout, s.ClientURL())
	_, _ = io.Copy(io.Discard, os.Stdin)
	s.Shutdown()
	return nil
}

// server is a NATS server in a process of its own.
type server struct {
	*testing.T
	name, listen, config string
	cmd                  *exec.Cmd
	life                 io.Closer
}

// newServer writes the configuration of a server that is one of several.
func newServer(t *testing.T, name, listen, route string, routes []string) *server {
	t.Helper()
	dir := t.TempDir()
	s := &server{T: t, name: name, listen: listen, config: filepath.Join(dir, "nats.conf")}
	text := fmt.Sprintf(`
		server_name: %s
		listen: %q
		jetstream { store_dir: %q, sync_interval: always }
		cluster { name: storm, listen: %q, routes: ["nats://%s"] }`,
		name, listen, filepath.Join(dir, "store"), route, strings.Join(routes, `", "nats://`))
	if err := os.WriteFile(s.config, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.kill)
	return s
}

func (s *server) url() string { return "nats://" + s.listen }

// start returns when the server takes connections.
func (s *server) start() error {
	s.cmd = exec.Command(os.Args[0])
	s.cmd.Env, s.cmd.Stderr = append(os.Environ(), serverEnv+"="+s.config), os.Stderr
	life, err := s.cmd.StdinPipe()
	if err != nil {
		return err
	}
	s.life = life
	out, err := s.cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := s.cmd.Start(); err != nil {
		return err
	}
	if _, err := bufio.NewReader(out).ReadString('\n'); err != nil {
		return fmt.Errorf("server %s does not start: %w", s.name, err)
	}
	return nil
}

func (s *server) signal(sig os.Signal) error {
	if err := s.cmd.Process.Signal(sig); err != nil {
		return fmt.Errorf("%v to server %s: %w", sig, s.name, err)
	}
	return nil
}

// stop ends the server in good order.
func (s *server) stop() {
	_ = s.life.Close()
	_ = s.cmd.Wait()
}

// kill ends the server without a warning. It may have ended already.
func (s *server) kill() {
	if s.cmd != nil && s.cmd.Process != nil {
		_ = s.cmd.Process.Kill()
		_ = s.cmd.Wait() // it says that it was killed
	}
}
