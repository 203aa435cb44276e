package locks

import (
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"google.golang.org/protobuf/proto"

	"github.com/holdfast-io/holdfast/cmd/holdfast/internal/cli"
	"github.com/holdfast-io/holdfast/messages"
)

// newGet returns the command that shows the holders of a lock.
func newGet() *cobra.Command {
	var stale, waiters bool
	g := &resourceCommand{op: messages.OpGet}
	cmd := &cobra.Command{
		Use:   "get RESOURCE",
		Short: "Show the holders of a lock",
		Long: `Shows the holder of the lock on a resource, its token and its remaining time; of a
shared lock all holders, at most the first 100. The answer is confirmed: it was true
at some moment after the request.`,
		Example: `  holdfast get orders.42
  holdfast get orders.42 --waiters
  holdfast get orders.42 --json | jq .lease`,
	}
	cli.AddFlags(cmd, "Request", func(f *pflag.FlagSet) {
		f.BoolVar(&waiters, "waiters", false, "show the waiting requests, at most the first 100")
		f.BoolVar(&stale, "stale", false, "do not confirm the answer: faster, but it may be outdated")
	})
	g.addTo(cmd, func() question {
		return question{message: func(time.Duration) proto.Message {
			return &messages.GetRequest{Stale: stale, Waiters: waiters}
		}}
	})
	g.connection.AddTenant(cmd)
	return cmd
}

// newExtend returns the command that extends a lease.
func newExtend() *cobra.Command {
	ttl := cli.TTL()
	e := &resourceCommand{op: messages.OpExtend}
	cmd := &cobra.Command{
		Use:   "extend RESOURCE",
		Short: "Extend a lease",
		Long: `Sets the remaining time of a lease to --ttl from now, whether that is longer or
shorter than before.`,
		Example: `  holdfast extend orders.42 --ttl 1m
  holdfast extend orders.42 --owner worker-7 --token 12 --ttl 1m`,
	}
	cli.AddFlags(cmd, "Lease", func(f *pflag.FlagSet) {
		e.addOwner(f)
		f.Var(&e.token, "token", tokenUsage)
		f.Var(&ttl, "ttl", "duration of the lease from now")
	})
	e.send(cmd, func() proto.Message {
		return &messages.ExtendRequest{Owner: e.owner, Token: uint64(e.token), TtlMs: ttl.Millis()}
	})
	return cmd
}

// newRelease returns the command that releases a lock.
func newRelease() *cobra.Command {
	r := &resourceCommand{op: messages.OpRelease}
	cmd := &cobra.Command{
		Use:   "release RESOURCE",
		Short: "Release a lock",
		Long: `Releases a lock; the next request in the queue acquires it at once. Releasing the
same token again has no effect.`,
		Example: `  holdfast release orders.42
  holdfast release orders.42 --owner worker-7 --token 12`,
	}
	cli.AddFlags(cmd, "Lease", func(f *pflag.FlagSet) {
		r.addOwner(f)
		f.Var(&r.token, "token", tokenUsage)
	})
	r.send(cmd, func() proto.Message {
		return &messages.ReleaseRequest{Owner: r.owner, Token: uint64(r.token)}
	})
	return cmd
}

// newBreak returns the command with which an operator revokes a lock.
func newBreak() *cobra.Command {
	var by, reason string
	b := &resourceCommand{op: messages.OpBreak}
	cmd := &cobra.Command{
		Use:   "break RESOURCE --token TOKEN",
		Short: "Revoke a lock from its holder, as an operator",
		Long: `Revokes the lock on a resource from its holder; the next request in the queue
acquires it at once. The token selects the lease, so that a newer lease is not
broken by mistake; holdfast get shows it.

The holder is not stopped. A resource that checks tokens rejects the old token
once it has seen a higher one.`,
		Example: `  holdfast get orders.42
  holdfast break orders.42 --token 12 --by anna --reason "worker-7 hangs, see ticket 311"`,
		DisableFlagsInUseLine: true,
	}
	cli.AddFlags(cmd, "Lease", func(f *pflag.FlagSet) {
		f.Var(&b.token, "token", "token of the current lease, as a number or as 15 digits; required")
		f.StringVar(&by, "by", "", "`NAME` that events show before the reason, as the one who breaks (default: none)")
		f.StringVar(&reason, "reason", "", "reason that events show, a `TEXT`")
	})
	b.send(cmd, func() proto.Message {
		return &messages.BreakRequest{Token: uint64(b.token), Reason: cli.Reason(by, reason)}
	})
	b.connection.AddTenant(cmd)
	b.needToken("the lease to break")
	return cmd
}

// newConfirm returns the command with which an operator confirms that a lost holder can do no more harm.
func newConfirm() *cobra.Command {
	var by, how string
	c := &resourceCommand{op: messages.OpConfirm}
	cmd := &cobra.Command{
		Use:   "confirm RESOURCE --token TOKEN",
		Short: "Confirm that a lost holder is stopped, as an operator",
		Long: `Confirms that the holder of a lost lease can do no more harm: it is dead, switched
off or cut off. If the resource was held back because of this lease, it no longer is,
and the next request in the queue acquires it.

The token selects the lost lease; holdfast get and holdfast ls --held-back show it.
Stop the holder first. holdfast fence-agent does both for each loss.`,
		Example: `  holdfast ls --held-back
  holdfast confirm disk.7 --token 12 --how "db1 is switched off, ticket 311"`,
		DisableFlagsInUseLine: true,
	}
	cli.AddFlags(cmd, "Lease", func(f *pflag.FlagSet) {
		f.Var(&c.token, "token", "token of the lost lease, as a number or as 15 digits; required")
		f.StringVar(&by, "by", cli.DefaultOwner(), "`NAME` that events show as the one who confirms")
		f.StringVar(&how, "how", "", "how the holder was stopped, a `TEXT` that events show")
	})
	c.send(cmd, func() proto.Message {
		return &messages.ConfirmRequest{Token: uint64(c.token), By: by, How: how}
	})
	c.connection.AddTenant(cmd)
	c.needToken("the lost lease")
	return cmd
}

const tokenUsage = "token of the lease, as a number or as 15 digits; 0: read it, if this owner has one lease"
