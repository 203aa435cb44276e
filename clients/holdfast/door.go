package holdfast

import (
	"errors"
	"strings"
	"sync"
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

const (
	// leastDetour is how long the direct door is avoided after it did not answer where the front door did.
	// It is twice as long each time that happens again, up to mostDetour, until the direct door answers: one
	// slow answer costs little, and a door that is closed to this user is tried rarely.
	leastDetour = time.Second
	mostDetour  = 30 * time.Second
)

// detour is whether the direct door is avoided. The zero detour is none.
type detour struct {
	mu sync.Mutex
	// until is its end, counted from the client's birth; length is that of the last one since the direct
	// door answered.
	until, length time.Duration
}

// begin avoids the direct door for a while, unless it is avoided already.
func (d *detour) begin(now time.Duration) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if now < d.until {
		return
	}
	d.length = min(max(2*d.length, leastDetour), mostDetour)
	d.until = now + d.length
}

// end is told that the direct door has answered.
func (d *detour) end() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.until, d.length = 0, 0
}

func (d *detour) lasts(now time.Duration) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return now < d.until
}

// door returns where the nth try of a request about a resource goes: every other one of those that got
// no answer takes the front door, which may be open to a user who is not let in at the other.
func (c *Client) door(op messages.Operation, key string, n int) door {
	known := c.deployment.Load()
	if known == nil || n%2 == 1 || c.detour.lasts(time.Since(c.born)) {
		return door{subject: c.cfg.prefix.Operation(op, key)}
	}
	return door{subject: c.cfg.prefix.Direct(messages.ShardOf(key, known.Shards), op, key), direct: true}
}

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
