package doctor

import (
	"context"

	"github.com/holdfast-io/holdfast/cmd/holdfast/internal/ask"
)

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
