package main

import (
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"google.golang.org/protobuf/proto"

	"github.com/holdfast-io/holdfast/cmd/holdfast/internal/cli"
	"github.com/holdfast-io/holdfast/messages"
)

// release is the command that gives a lock back.
type release struct {
	resourceCommand
	token cli.Token
}

func newRelease() *cobra.Command {
	r := &release{resourceCommand: resourceCommand{op: messages.OpRelease}}
	cmd := &cobra.Command{
		Use:   "release RESOURCE",
		Short: "Give a lock back",
		Long: `Gives a lock back, so that whoever waits for it gets it at once. Releasing the
same token again does no harm.`,
		Example: `  holdfast release orders.42
  holdfast release orders.42 --owner worker-7 --token 12`,
	}
	cli.AddFlags(cmd, "Lease", func(f *pflag.FlagSet) {
		r.addOwner(f)
		f.Var(&r.token, "token", tokenUsage)
	})
	r.addTo(cmd, r.question)
	return cmd
}

const tokenUsage = "the lease's token, as a number or as 15 digits; 0 is whatever this owner holds"

func (r *release) question() question {
	return question{message: func(time.Duration) proto.Message {
		return &messages.ReleaseRequest{Owner: r.owner, Token: uint64(r.token)}
	}}
}
