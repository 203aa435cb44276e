package doctor

import (
	"context"
	"time"

	"github.com/nats-io/nats.go"
	"google.golang.org/protobuf/proto"

	"github.com/holdfast-io/holdfast/cmd/holdfast/internal/ask"
	"github.com/holdfast-io/holdfast/cmd/holdfast/internal/cli"
	"github.com/holdfast-io/holdfast/cmd/holdfast/internal/deadlock"
	"github.com/holdfast-io/holdfast/jetstream"
	"github.com/holdfast-io/holdfast/messages"
)

// answerTimeout bounds a request. A node answers within two seconds that JetStream confirms nothing.
const answerTimeout = 3 * time.Second

// Config configures the checks.
type Config struct {
	// Conn is the connection to NATS. The checks replace its handler of errors.
	Conn   *nats.Conn
	Prefix messages.Prefix
	// Timeout bounds each check.
	Timeout time.Duration
	// Slow is the time from which an answer counts as slow.
	Slow time.Duration
	// Lost are nodes that were there, and when they were heard last; nil: none is known.
	Lost map[string]time.Time
}

// deployment is what is examined, with what earlier checks have found.
type deployment struct {
	cfg    Config
	caller *ask.Caller
	// info is nil if no node has answered.
	info *messages.Info
	// nodes are the statistics of the nodes, by name; nil if they were not requested.
	nodes map[string]*NodeStats
	// synced: each commit is confirmed only when it is on disk, as far as that is known.
	synced bool
	// buckets are those that JetStream has reported.
	buckets []jetstream.Inspection
	locks   locks
}

// ask sends a request of the contract, and reads the answer into reply.
func (d *deployment) ask(ctx context.Context, subject string, request, reply proto.Message) error {
	return d.caller.Ask(ctx, answerTimeout, subject, request, reply)
}

// locks are what the listings show.
type locks struct {
	// contended are the held resources for which requests wait.
	contended deadlock.Listing
	// queues are the numbers of waiting requests, by the resource, as far as they were listed or counted.
	queues map[cli.Resource]int
	// late are leases whose tokens are near the end, unconfirmed those that hold a resource back until their loss is
	// confirmed; at most [maxNamed] of each.
	late, unconfirmed []*messages.Lease
	// leases is how many held ones were listed; partial: there are more.
	leases  int
	partial bool
	// err is why the listing ended early.
	err error
}
