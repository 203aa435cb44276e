package commands

import (
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"google.golang.org/protobuf/proto"

	"github.com/holdfast-io/holdfast/cmd/holdfast/internal/cli"
	"github.com/holdfast-io/holdfast/messages"
)

// newConfirm returns the command with which an operator confirms that a lost holder can do no more harm.
func newConfirm() *cobra.Command {
	var token cli.Token
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
		f.Var(&token, "token", "token of the lost lease, as a number or as 15 digits; required")
		f.StringVar(&by, "by", cli.DefaultOwner(), "`NAME` that events show as the one who confirms")
		f.StringVar(&how, "how", "", "how the holder was stopped, a `TEXT` that events show")
	})
	c.addTo(cmd, func() question {
		return question{needs: []string{messages.FeatureDelay}, message: func(time.Duration) proto.Message {
			return &messages.ConfirmRequest{Token: uint64(token), By: by, How: how}
		}}
	})
	c.connection.AddTenant(cmd)
	c.needToken(&token, "the lost lease")
	return cmd
}
