package doctor

import (
	"context"
	"slices"

	"github.com/holdfast-io/holdfast/cmd/holdfast/internal/ask"
	"github.com/holdfast-io/holdfast/cmd/holdfast/internal/cli"
	"github.com/holdfast-io/holdfast/cmd/holdfast/internal/display"
	"github.com/holdfast-io/holdfast/jetstream"
	"github.com/holdfast-io/holdfast/messages"
)

// Survey is what a look has found.
type Survey struct {
	// Results are those of the checks, in their order.
	Results []Result
	// Info is nil if no node has answered.
	Info *messages.Info
	// Nodes are the statistics of the nodes that have answered, by name; nil if the user may not ask for them.
	Nodes map[string]*NodeStats
	// Buckets are what JetStream reports of the shards, as far as the user may ask for it.
	Buckets []jetstream.Inspection
	// Unconfirmed are leases that hold a resource back until their loss is confirmed, at most [maxNamed].
	Unconfirmed []*messages.Lease
}

// looks are the checks of a look: those that commit nothing and list no lock that is held.
var looks = []check{
	{"shards", false, (*deployment).shards, ""},
	{"nodes", true, (*deployment).answers, ""},
	{"storage", true, (*deployment).storage, ""},
	{"replicas", true, (*deployment).replicas, ""},
	{"load", true, (*deployment).load, ""},
	{"queues", true, (*deployment).losses, ""},
}

// Look makes the checks that can be repeated all the time, with the words of [Run]. It sends a request for each shard
// and a few for each node. The caller uses the connection of cfg.
func Look(ctx context.Context, caller *ask.Caller, cfg Config) *Survey {
	d, s := &deployment{cfg: cfg, caller: caller}, &Survey{}
	for _, c := range looks {
		s.Results = append(s.Results, d.check(ctx, c))
	}
	s.Info, s.Nodes, s.Buckets, s.Unconfirmed = d.info, d.nodes, d.buckets, d.locks.unconfirmed
	return s
}

// losses looks for losses that are not confirmed, in the first page of a listing.
func (d *deployment) losses(ctx context.Context, r *Result) {
	if !slices.Contains(d.info.GetFeatures(), messages.FeatureDelay) {
		return
	}
	request, page := &messages.ListRequest{HeldBack: true, Tenant: d.tenants()}, &messages.ListReply{}
	if err := d.caller.Ask(ctx, pageTimeout, d.cfg.Prefix.List(), request, page); err != nil {
		r.unanswered("each request on "+d.cfg.Prefix.List(), err)
		return
	}
	d.locks.queues = make(map[cli.Resource]int)
	d.locks.addLost(page)
	for _, l := range d.locks.unconfirmed {
		r.unconfirmed(l)
	}
	r.see("%s", display.Plural(len(d.locks.unconfirmed), "unconfirmed loss", "unconfirmed losses"))
}
