package commands

import (
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"google.golang.org/protobuf/proto"

	"github.com/holdfast-io/holdfast/cmd/holdfast/internal/cli"
	"github.com/holdfast-io/holdfast/messages"
)

// newBreak returns the command with which an operator revokes a lock.
func newBreak() *cobra.Command {
	var token cli.Token
	var reason string
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
  holdfast break orders.42 --token 12 --reason "worker-7 hangs, see ticket 311"`,
		DisableFlagsInUseLine: true,
	}
	cli.AddFlags(cmd, "Lease", func(f *pflag.FlagSet) {
		f.Var(&token, "token", "token of the current lease, as a number or as 15 digits; required")
		f.StringVar(&reason, "reason", "", "reason that events show, a `TEXT`")
	})
	b.addTo(cmd, func() question {
		return question{message: func(time.Duration) proto.Message {
			return &messages.BreakRequest{Token: uint64(token), Reason: reason}
		}}
	})
	b.connection.AddTenant(cmd)
	b.needToken(&token, "the lease to break")
	return cmd
}
