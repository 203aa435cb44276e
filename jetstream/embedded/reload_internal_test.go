package embedded

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"testing"

	"github.com/nats-io/nats.go"
)

// A restart after a fault of the disk has the logins of the file as it is then, and does not happen with a file that
// cannot be used or locks this process out.
func TestRestartReadsTheLoginsAgain(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "auth.conf")
	logins := func(users ...string) {
		t.Helper()
		text := ""
		for _, user := range users {
			text += fmt.Sprintf("{ user: %s, password: x }\n", user)
		}
		if err := os.WriteFile(file, []byte("authorization { users: [ "+text+" ] }"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	logins("node")
	s, err := Start(Config{
		Name: "n", Listen: "127.0.0.1:0", DataDir: t.TempDir(), AuthFile: file,
		Login: []nats.Option{nats.UserInfo("node", "x")}, Log: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Shutdown)
	before := s.runner.present()
	logins("late")
	if err := s.runner.restart(t.Context()); !errors.Is(err, ErrConfig) || s.runner.present() != before ||
		!before.Running() {
		t.Fatalf("restarted without the login of this process: %v", err)
	}
	logins("node", "late")
	if err := s.runner.restart(t.Context()); err != nil || s.runner.present() == before {
		t.Fatalf("not restarted: %v", err)
	}
	nc, err := nats.Connect(s.ClientURL(), nats.UserInfo("late", "x"))
	if err != nil {
		t.Fatal(err)
	}
	nc.Close()
	if err := s.Reload(); err != nil {
		t.Error(err)
	}
}
