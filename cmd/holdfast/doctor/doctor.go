package doctor

import (
	"context"

	"github.com/holdfast-io/holdfast/cmd/holdfast/internal/ask"
)

// connection is the name of the first check.
const connection = "connection"

// check is one check. One that needs nodes is not made if none has answered.
type check struct {
	name  string
	needs bool // nodes
	run   func(*deployment, context.Context, *Result)
}

// checks are in the order in which they are made: later ones use what earlier ones have found.
var checks = []check{
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
		report(d.check(ctx, c))
	}
}

// check makes one check within the time for one.
func (d *deployment) check(ctx context.Context, c check) Result {
	r := Result{Check: c.name, State: OK}
	ctx, cancel := context.WithTimeout(ctx, d.cfg.Timeout)
	defer cancel()
	if c.needs && d.info == nil {
		r.hidden(noNodeAnswers)
	} else {
		c.run(d, ctx, &r)
	}
	return r
}

// Unreachable is the result for a deployment whose NATS cannot be reached.
func Unreachable(err error) Result {
	r := Result{Check: connection, State: OK}
	r.see("no connection to NATS")
	r.unreachable(err)
	return r
}
