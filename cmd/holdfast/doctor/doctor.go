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
	// synced: each commit is confirmed only when it is on disk, as far as that is known.
	synced bool
	locks  locks
}

// connection is the name of the first check.
const connection = "connection"

// checks are in the order in which they are made: later ones use what earlier ones have learned. Those that ask nodes
// are not made if none has answered.
var checks = []struct {
	name string
	// asks: it asks nodes.
	asks bool
	run  func(*patient, context.Context, *Result)
}{
	{connection, false, (*patient).connection},
	{"permissions", false, (*patient).permissions},
	{"shards", false, (*patient).shards},
	{"identity", true, (*patient).identity},
	{"nodes", true, (*patient).answers},
	{"storage", false, (*patient).storage},
	{"commits", true, (*patient).commits},
	{"replicas", true, (*patient).replicas},
	{"load", true, (*patient).load},
	{"queues", true, (*patient).queues},
	{"deadlocks", true, (*patient).deadlocks},
	{"tokens", true, (*patient).tokens},
	{"clock", false, (*patient).clock},
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
		if c.asks && p.info == nil {
			r.hidden(noNodeAnswers)
		} else {
			c.run(p, limited, &r)
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
