package doctor

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/holdfast-io/holdfast/cmd/holdfast/internal/cli"
	"github.com/holdfast-io/holdfast/cmd/holdfast/internal/deadlock"
	"github.com/holdfast-io/holdfast/cmd/holdfast/internal/display"
	"github.com/holdfast-io/holdfast/messages"
)

// get returns the answer of a node about a resource.
func (d *deployment) get(ctx context.Context, of cli.Resource, request *messages.GetRequest) (*messages.Reply, error) {
	key, err := messages.EncodeKey(of.Name)
	if err != nil {
		return nil, err
	}
	prefix := d.cfg.Prefix
	if of.Tenant != "" {
		prefix = prefix.Tenant(of.Tenant)
	}
	reply := &messages.Reply{}
	return reply, d.ask(ctx, prefix.Operation(messages.OpGet, key), request, reply)
}

// deadlocks looks for owners that wait for one another.
func (d *deployment) deadlocks(ctx context.Context, r *Result) {
	if d.unlisted(r) {
		return
	}
	found, err := deadlock.Find(d.locks.contended.Contended, func(tenant, name string) (*messages.Reply, error) {
		return d.get(ctx, cli.Resource{Name: name, Tenant: tenant}, &messages.GetRequest{Waiters: true})
	})
	if err != nil {
		r.unanswered("the question who waits for a lock", err)
		return
	}
	r.see("%s among %s", display.Count(len(found), "deadlock"), d.locks.among())
	for _, c := range found[:min(len(found), maxNamed)] {
		r.deadlocked(c)
	}
}

func (r *Result) deadlocked(c deadlock.Cycle) {
	var parts []string
	for _, l := range c {
		parts = append(parts, fmt.Sprintf("%s waits for %s, which %s holds", display.Quote(l.Waiter.GetOwner()),
			display.Name(l.Resource), display.Quote(l.Lease.GetOwner())))
	}
	r.problem("deadlock"+cli.OfTenant(c[0].Tenant)+": "+strings.Join(parts, "; "),
		"none of them goes on until a wait or a lease ends",
		fmt.Sprintf("break one of the leases: holdfast break %s --token %d%s; holdfast deadlocks%s shows more",
			display.Name(c[0].Resource), c[0].Lease.GetToken(), cli.TenantFlag(c[0].Tenant),
			cli.TenantFlag(c[0].Tenant)))
}

// tokens looks for resources whose tokens are near the end.
func (d *deployment) tokens(_ context.Context, r *Result) {
	for _, name := range slices.Sorted(maps.Keys(d.nodes)) {
		if late := d.nodes[name]; late.LateTokens > 0 {
			r.lateTokens(fmt.Sprintf("node %s has granted %s above %d since its start", display.Name(name),
				display.Count(int(late.LateTokens), "token"), messages.WarnToken))
		}
	}
	if d.unlisted(r) {
		return
	}
	for _, l := range d.locks.late {
		r.lateTokens(fmt.Sprintf("the token of %s is %d", cli.ResourceOf(l), lastToken(l)))
	}
	r.see("%s near the end among %s", display.Count(len(d.locks.late), "token"), d.locks.among())
}

func (r *Result) lateTokens(what string) {
	r.warn(what,
		fmt.Sprintf("a resource whose token reaches %d is granted no more", messages.MaxToken),
		"find out what takes so many tokens, in the log of the nodes; move to another name before the end")
	r.as("HoldfastTokensRunOut")
}
