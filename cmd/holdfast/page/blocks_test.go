package page_test

import (
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/holdfast-io/holdfast/cmd/holdfast/page"
	"github.com/holdfast-io/holdfast/integration/stand"
	"github.com/holdfast-io/holdfast/messages"
)

// ask makes a request of the contract about a resource, which has to be answered with the status.
func ask(t *testing.T, nc *nats.Conn, op messages.Operation, resource, request string, status messages.Status) {
	t.Helper()
	got := stand.Value(nc.Request(messages.DefaultPrefix.Operation(op, resource), []byte(request), time.Minute))(t)
	reply := new(messages.Reply)
	stand.Must(t, messages.DecodeReply(messages.JSON, got.Data, reply))
	if reply.GetStatus() != status {
		t.Fatalf("%s: %v", op, reply)
	}
}

// A lease with a block has its first and its last token in all views, and may be broken by any of them.
func TestBlocks(t *testing.T) {
	t.Parallel()
	s := start(t, page.Config{})
	nc := stand.Dial(t, s.node.URL())
	ask(t, nc, messages.OpAcquire, "a", `{"owner":"me","ttl_ms":60000,"tokens":100}`, messages.Status_GRANTED)
	s.want("/locks", 200, `<td class="n">1-100</td>`)
	s.eventually("/lock?name=a", "The lock is held.", `<td class="n">1-100</td>`, "acquired")
	ask(t, nc, messages.OpBreak, "a", `{"token":50}`, messages.Status_RELEASED)
	s.eventually("/lock?name=a&broken=50", "The lease with token 50 is broken.", "The lock is free.",
		"The last token is 100.")
	s.want("/lock?name=a&broken=101", 200, "Whether the lease with token 101 is broken, the history says.")
}

// A lock whose shortest hold is not over is held back, and nothing of it was lost.
func TestRest(t *testing.T) {
	t.Parallel()
	s := start(t, page.Config{})
	nc := stand.Dial(t, s.node.URL())
	ask(t, nc, messages.OpAcquire, "a", `{"owner":"me","ttl_ms":60000,"min_hold_ms":3600000}`, messages.Status_GRANTED)
	ask(t, nc, messages.OpRelease, "a", `{"owner":"me"}`, messages.Status_RELEASED)
	s.eventually("/lock?name=a", "The lock is held back.", "The lease of me with token 1 has ended.",
		"rests for ")
	s.want("/locks?state=heldback", 200, "No lock of this selection is held back.")
	ask(t, nc, messages.OpAcquire, "b", `{"owner":"me","ttl_ms":60000,"confirm":true,"tokens":5}`, messages.Status_GRANTED)
	ask(t, nc, messages.OpBreak, "b", `{"token":1}`, messages.Status_RELEASED)
	s.eventually("/lock?name=b", "The lock is held back until the loss is confirmed. "+
		"The lease of me with tokens 1-5 was lost.")
}
