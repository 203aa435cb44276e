package doctor

import (
	"context"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/holdfast-io/holdfast/messages"
)

// Config is what the checks are told.
type Config struct {
	// Conn is the connection to NATS. The checks replace its handler of errors.
	Conn   *nats.Conn
	Prefix messages.Prefix
	// Timeout bounds each check.
	Timeout time.Duration
	// Slow is the time from which an answer counts as slow.
	Slow time.Duration
}

// patient is a deployment with what earlier checks have learned of it.
type patient struct {
	cfg   Config
	asker *asker
	// info is nil if no node has answered.
	info *messages.Info
	// nodes are what the nodes tell of themselves, by name; nil if they were not asked.
	nodes map[string]*nodeStats
	locks locks
}

// connection is the name of the first check.
const connection = "connection"

// checks are in the order in which they are made: later ones use what earlier ones have learned.
var checks = []struct {
	name string
	run  func(*patient, context.Context, *Result)
}{
	{connection, (*patient).connection},
	{"permissions", (*patient).permissions},
	{"shards", (*patient).shards},
	{"identity", (*patient).identity},
	{"nodes", (*patient).answers},
	{"commits", (*patient).commits},
	{"storage", (*patient).storage},
	{"replicas", (*patient).replicas},
	{"load", (*patient).load},
	{"queues", (*patient).queues},
	{"deadlocks", (*patient).deadlocks},
	{"tokens", (*patient).tokens},
	{"clock", (*patient).clock},
}

// Run makes all checks, one after the other, and calls report with each result as it comes. It returns when all are made, or
// when ctx ends.
func Run(ctx context.Context, cfg Config, report func(Result)) {
	p := &patient{cfg: cfg, asker: newAsker(cfg.Conn)}
	for _, c := range checks {
		if ctx.Err() != nil {
			return
		}
		r := Result{Check: c.name, State: OK}
		limited, cancel := context.WithTimeout(ctx, cfg.Timeout)
		c.run(p, limited, &r)
		cancel()
		report(r)
	}
}

// Unreachable is the result for a deployment whose NATS cannot be reached.
func Unreachable(err error) Result {
	r := Result{Check: connection, State: OK}
	r.see("no connection to NATS")
	r.add(unreachable(err))
	return r
}
