package doctor

import (
	"context"
	"fmt"
	"strings"

	"github.com/holdfast-io/holdfast/cmd/holdfast/internal/ask"
)

// connection is the name of the first check.
const connection = "connection"

// check is one check. One that needs nodes is not made if none has answered.
type check struct {
	name  string
	needs bool // nodes
	run   func(*deployment, context.Context, *Result)
	// finds says in the help what it finds, in lines of at most 70 characters.
	finds string
}

// checks are in the order in which they are made: later ones use what earlier ones have found.
var checks = []check{
	{connection, false, (*deployment).connection,
		`a NATS server that does not answer, refuses the login, is slow or
older than 2.15, or that other hosts reach without a login`},
	{"permissions", false, (*deployment).permissions,
		`subjects on which only nodes, or only operators and fencing agents,
should publish and this user may; locks that it may acquire and not
extend, release or look at, or whose ends it cannot receive as events`},
	{"shards", false, (*deployment).shards,
		`no node that answers; a shard without an owner for three seconds; a
node that takes requests and does not answer; nodes of different
versions, or older than the command`},
	{"identity", true, (*deployment).identity,
		`with verified owners, a user that can claim to be another one, and
one whom NATS does not name to the nodes`},
	{"nodes", true, (*deployment).answers, `a node that does not answer, or slowly; clocks of nodes that are apart`},
	{"storage", false, (*deployment).storage,
		`a node or an external NATS server that does not sync its writes, if
it says so; a node that cannot store, or whose disk has less than 5 %
and less than 5 GB free; an account with 90 % of its storage used`},
	{"commits", true, (*deployment).commits,
		`a shard that is stalled, or slow: the median of three confirmed reads
of a name that is never locked, holdfast-doctor.0 or with another
number`},
	{"replicas", true, (*deployment).replicas,
		`a bucket that is missing, not finished by a restore, changed in its
settings, without a leader or some of its replicas; replicas that are
away, or behind for three seconds; fewer than three replicas where
three servers are known by name, or in some buckets only`},
	{"load", true, (*deployment).load,
		`nodes with 80 % of the leases or waiting requests that they take`},
	{"queues", true, (*deployment).queues,
		`queues with 80 % of --max-queue, of the ten longest; resources that
are held back until a loss is confirmed`},
	{"deadlocks", true, (*deployment).deadlocks, `owners that wait for one another: see holdfast deadlocks`},
	{"tokens", true, (*deployment).tokens,
		`leases whose token is above 90 000 000 000 000, and nodes that have
granted such a token since their start`},
	{"clock", false, func(_ *deployment, _ context.Context, r *Result) { clock(r) },
		`a machine whose clock does not count the time of a suspend, so that a
client on it may notice the end of a lease late`},
}

// Help lists the checks in their order, with what each finds.
func Help() string {
	var b strings.Builder
	for _, c := range checks {
		fmt.Fprintf(&b, "  %-12s %s\n", c.name, strings.ReplaceAll(c.finds, "\n", "\n"+strings.Repeat(" ", 15)))
	}
	return b.String()
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
