package main

import (
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"google.golang.org/protobuf/proto"

	"github.com/holdfast-io/holdfast/cmd/holdfast/internal/cli"
	"github.com/holdfast-io/holdfast/cmd/holdfast/internal/display"
	"github.com/holdfast-io/holdfast/cmd/holdfast/internal/exit"
	"github.com/holdfast-io/holdfast/messages"
)

// breaking is the command by which an operator takes somebody's lock away.
type breaking struct {
	resourceCommand
	token  cli.Token
	reason string
}

func newBreak() *cobra.Command {
	b := &breaking{resourceCommand: resourceCommand{op: messages.OpBreak}}
	cmd := &cobra.Command{
		Use:   "break RESOURCE --token TOKEN",
		Short: "Take a lock away from its holder, as an operator",
		Long: `Takes the lock on a resource away from whoever holds it; the next in the queue
gets it at once. The token says which lease is meant, so that none is broken that
has begun since you looked; holdfast get shows it.

The holder is not told, and does not stop by itself. Its token is refused from
then on by whatever checks tokens, as soon as that has seen a higher one.`,
		Example: `  holdfast get orders.42
  holdfast break orders.42 --token 12 --reason "worker-7 hangs, see ticket 311"`,
		DisableFlagsInUseLine: true,
	}
	cli.AddFlags(cmd, "Lease", func(f *pflag.FlagSet) {
		f.Var(&b.token, "token", "the present lease's token, as a number or as 15 digits; required")
		f.StringVar(&b.reason, "reason", "", "`TEXT` that tells others why")
	})
	b.addTo(cmd, b.question)
	run := cmd.RunE
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if b.token == 0 {
			return exit.Usagef("--token is missing: it says which lease to break; find it with: holdfast get %s", display.Name(args[0]))
		}
		return run(cmd, args)
	}
	return cmd
}

func (b *breaking) question() question {
	return question{message: func(time.Duration) proto.Message {
		return &messages.BreakRequest{Token: uint64(b.token), Reason: b.reason}
	}}
}
