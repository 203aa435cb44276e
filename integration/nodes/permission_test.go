package nodes

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/nats-io/nats.go"

	"github.com/holdfast-io/holdfast/actors/node"
	"github.com/holdfast-io/holdfast/jetstream/embedded"
)

// users are a node, and two that may not speak to others, or not hear them.
const users = `
listen: "127.0.0.1:-1"
jetstream { store_dir: %q, sync_interval: always }
authorization { users: [
  { user: node, password: x }
  { user: dumb, password: x, permissions: { publish: { allow: ">", deny: "holdfast.node.>" }, subscribe: ">" } }
  { user: deaf, password: x, permissions: { publish: ">", subscribe: { allow: ">", deny: "holdfast.node.>" } } }
] }`

// A node that may not speak to others, or not hear them, says what it needs and does not start.
func TestWithoutPermission(t *testing.T) {
	f := newLogged(t)
	dir := t.TempDir()
	file := filepath.Join(dir, "nats.conf")
	if err := os.WriteFile(file, fmt.Appendf(nil, users, dir), 0o600); err != nil {
		t.Fatal(err)
	}
	var err error
	f.server, err = embedded.Start(embedded.Config{Name: "nats", ConfigFile: file, Log: f.log("nats")})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(f.server.Shutdown)
	f.login = nats.UserInfo("node", "x")
	for _, user := range []string{"dumb", "deaf"} {
		p, err := f.try(user, func(c *node.Config) {
			var err error
			if c.Peers, err = f.server.Connect(nats.UserInfo(user, "x")); err != nil {
				t.Fatal(err)
			}
		})
		if !errors.Is(err, nats.ErrPermissionViolation) || !strings.Contains(err.Error(), "holdfast.node.>") {
			t.Errorf("%s: got %v, %v, want a permission violation that names holdfast.node.>", user, p, err)
		}
	}
}
