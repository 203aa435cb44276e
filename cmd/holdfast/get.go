package main

import (
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"google.golang.org/protobuf/proto"

	"github.com/holdfast-io/holdfast/cmd/holdfast/internal/cli"
	"github.com/holdfast-io/holdfast/messages"
)

// get is the command that tells who holds a lock.
type get struct {
	resourceCommand
	stale bool
}

func newGet() *cobra.Command {
	g := &get{resourceCommand: resourceCommand{op: messages.OpGet}}
	cmd := &cobra.Command{
		Use:   "get RESOURCE",
		Short: "Show who holds a lock",
		Long: `Shows who holds the lock on a resource, under which token, and for how long still.
The answer is confirmed: it was true at some moment after the question.`,
		Example: `  holdfast get orders.42
  holdfast get orders.42 --json | jq .lease`,
	}
	cli.AddFlags(cmd, "Question", func(f *pflag.FlagSet) {
		f.BoolVar(&g.stale, "stale", false, "take the node's word unconfirmed: faster, and it may be out of date")
	})
	g.addTo(cmd, g.question)
	return cmd
}

func (g *get) question() question {
	return question{message: func(time.Duration) proto.Message {
		return &messages.GetRequest{Stale: g.stale}
	}}
}
