package nodes

import (
	"errors"
	"strings"
	"testing"

	"github.com/nats-io/nats.go"

	"github.com/holdfast-io/holdfast/actors/node"
	"github.com/holdfast-io/holdfast/integration/stand"
	"github.com/holdfast-io/holdfast/jetstream/embedded"
)

// users are a node, and two that may not publish to others, or not receive from them.
const users = `
authorization { users: [
  { user: node, password: x }
  { user: dumb, password: x, permissions: { publish: { allow: ">", deny: "holdfast.node.>" }, subscribe: ">" } }
  { user: deaf, password: x, permissions: { publish: ">", subscribe: { allow: ">", deny: "holdfast.node.>" } } }
] }`

// A node that may not publish to others, or not receive from them, says what it needs and does not start.
func TestWithoutPermission(t *testing.T) {
	f := newLogged(t)
	f.server = stand.StartNATS(t, embedded.Config{ConfigFile: stand.NATSConfig(t, users), Log: f.log("nats")})
	f.login = nats.UserInfo("node", "x")
	for _, user := range []string{"dumb", "deaf"} {
		p, err := f.try(user, func(c *node.Config) {
			c.Peers = f.server.Connect(t, nats.UserInfo(user, "x"))
		})
		if !errors.Is(err, nats.ErrPermissionViolation) || !strings.Contains(err.Error(), "holdfast.node.>") {
			t.Errorf("%s: got %v, %v, want a permission violation that names holdfast.node.>", user, p, err)
		}
	}
}
