package commands

import (
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"google.golang.org/protobuf/proto"

	"github.com/holdfast-io/holdfast/cmd/holdfast/internal/cli"
	"github.com/holdfast-io/holdfast/messages"
)

// newExtend returns the command that extends a lease.
func newExtend() *cobra.Command {
	var token cli.Token
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
		f.Var(&token, "token", tokenUsage)
		f.Var(&ttl, "ttl", "duration of the lease from now")
	})
	e.addTo(cmd, func() question {
		return question{token: &token, message: func(time.Duration) proto.Message {
			return &messages.ExtendRequest{Owner: e.owner, Token: uint64(token), TtlMs: ttl.Millis()}
		}}
	})
	return cmd
}
