package commands

import (
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"google.golang.org/protobuf/proto"

	"github.com/holdfast-io/holdfast/cmd/holdfast/internal/cli"
	"github.com/holdfast-io/holdfast/messages"
)

// newRelease returns the command that releases a lock.
func newRelease() *cobra.Command {
	var token cli.Token
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
		f.Var(&token, "token", tokenUsage)
	})
	r.addTo(cmd, func() question {
		return question{token: &token, message: func(time.Duration) proto.Message {
			return &messages.ReleaseRequest{Owner: r.owner, Token: uint64(token)}
		}}
	})
	return cmd
}

const tokenUsage = "token of the lease, as a number or as 15 digits; 0: read it, if this owner has one lease"
