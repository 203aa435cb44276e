package commands

import (
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"google.golang.org/protobuf/proto"

	"github.com/holdfast-io/holdfast/cmd/holdfast/internal/cli"
	"github.com/holdfast-io/holdfast/messages"
)

// get is the command that shows the holders of a lock.
type get struct {
	resourceCommand
	stale, waiters bool
}

func newGet() *cobra.Command {
	g := &get{resourceCommand: resourceCommand{op: messages.OpGet}}
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
		f.BoolVar(&g.waiters, "waiters", false, "show the waiting requests, at most the first 100")
		f.BoolVar(&g.stale, "stale", false, "do not confirm the answer: faster, but it may be outdated")
	})
	g.addTo(cmd, g.question)
	g.connection.AddTenant(cmd)
	return cmd
}

func (g *get) question() question {
	q := question{message: func(time.Duration) proto.Message {
		return &messages.GetRequest{Stale: g.stale, Waiters: g.waiters}
	}}
	if g.waiters {
		q.needs = []string{messages.FeatureSharing}
	}
	return q
}
