package commands

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
		q := question{message: func(time.Duration) proto.Message {
			return &messages.GetRequest{Stale: stale, Waiters: waiters}
		}}
		if waiters {
			q.needs = []string{messages.FeatureSharing}
		}
		return q
	})
	g.connection.AddTenant(cmd)
	return cmd
}
