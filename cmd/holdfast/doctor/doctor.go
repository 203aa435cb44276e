package doctor

import (
	"context"
	"time"

	"github.com/nats-io/nats.go"
	"google.golang.org/protobuf/proto"

	"github.com/holdfast-io/holdfast/cmd/holdfast/internal/ask"
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
}

// deployment is what is examined, with what earlier checks have found.
type deployment struct {
	cfg    Config
	caller *ask.Caller
	// info is nil if no node has answered.
	info *messages.Info
	// nodes are the statistics of the nodes, by name; nil if they were not requested.
	nodes map[string]*nodeStats
	// synced: each commit is confirmed only when it is on disk, as far as that is known.
	synced bool
	locks  locks
}

// ask sends a request of the contract, and reads the answer into reply.
func (d *deployment) ask(ctx context.Context, subject string, request, reply proto.Message) error {
	return d.caller.Ask(ctx, answerTimeout, subject, request, reply)
}

// connection is the name of the first check.
const connection = "connection"

// checks are in the order in which they are made: later ones use what earlier ones have found. Those that need nodes
// are not made if none has answered.
var checks = []struct {
	name  string
	needs bool // nodes
	run   func(*deployment, context.Context, *Result)
}{
	{connection, false, (*deployment).connection},
	{"permissions", false, (*deployment).permissions},
	{"shards", false, (*deployment).shards},
	{"identity", true, (*deployment).identity},
	{"nodes", true, (*deployment).answers},
	{"storage", false, (*deployment).storage},
	{"commits", true, (*deployment).commits},
	{"replicas", true, (*deployment).replicas},
	{"load", true, (*deployment).load},
	{"queues", true, (*deployment).queues},
	{"deadlocks", true, (*deployment).deadlocks},
	{"tokens", true, (*deployment).tokens},
	{"clock", false, func(_ *deployment, _ context.Context, r *Result) { clock(r) }},
}

// Run makes all checks, one after the other, and calls report with each result as it comes. It returns when all are
// made, or when ctx ends.
func Run(ctx context.Context, cfg Config, report func(Result)) {
	d := &deployment{cfg: cfg, caller: ask.New(cfg.Conn)}
	for _, c := range checks {
		if ctx.Err() != nil {
			return
		}
		r := Result{Check: c.name, State: OK}
		limited, cancel := context.WithTimeout(ctx, cfg.Timeout)
		if c.needs && d.info == nil {
			r.hidden(noNodeAnswers)
		} else {
			c.run(d, limited, &r)
		}
		cancel()
		report(r)
	}
}

// Unreachable is the result for a deployment whose NATS cannot be reached.
func Unreachable(err error) Result {
	r := Result{Check: connection, State: OK}
	r.see("no connection to NATS")
	r.unreachable(err)
	return r
}
