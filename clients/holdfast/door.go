package holdfast

import (
	"errors"
	"strings"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/holdfast-io/holdfast/messages"
)

// door is where a request is sent: straight to the owner of the shard, which keeps the order of what one
// connection sends, or to any node, which sends it on.
type door struct {
	subject string
	direct  bool
}

// detourTime is how long the direct door is avoided after it did not answer where the front door did.
const detourTime = 30 * time.Second

// door returns where the nth try of a request about a resource goes: every other one of those that got
// no answer takes the front door, which may be open to a user who is not let in at the other.
func (c *Client) door(op messages.Operation, key string, n int) door {
	known := c.deployment.Load()
	if known == nil || n%2 == 1 || time.Since(c.born) < time.Duration(c.detour.Load()) {
		return door{subject: c.cfg.prefix.Operation(op, key)}
	}
	return door{subject: c.cfg.prefix.Direct(messages.ShardOf(key, known.Shards), op, key), direct: true}
}

// avoid takes the front door for a while.
func (c *Client) avoid() { c.detour.Store(int64(time.Since(c.born) + detourTime)) }

// forbidden returns what NATS said if it does not let this user ask, else nil. It is known only for the
// connection as a whole, and some time after the request.
func (c *Client) forbidden() error {
	complaint := c.complaint.Load()
	if complaint == nil || !errors.Is(*complaint, nats.ErrPermissionViolation) {
		return nil
	}
	text := (*complaint).Error()
	if strings.Contains(text, `"`+c.cfg.prefix.Event("")) {
		return nil // events are hints only: no call fails for want of them
	}
	for _, ours := range []string{string(c.cfg.prefix) + ".", c.inbox} {
		if strings.Contains(text, `"`+ours) {
			return *complaint
		}
	}
	return nil
}
