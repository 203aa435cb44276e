package operate

import (
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/holdfast-io/holdfast/cmd/holdfast/internal/cli"
	"github.com/holdfast-io/holdfast/cmd/holdfast/internal/connect"
	"github.com/holdfast-io/holdfast/cmd/holdfast/internal/display"
	"github.com/holdfast-io/holdfast/cmd/holdfast/internal/exit"
	"github.com/holdfast-io/holdfast/cmd/holdfast/reshard"
	"github.com/holdfast-io/holdfast/jetstream"
	"github.com/holdfast-io/holdfast/messages"
)

// reshardCommand is the command that changes the number of shards.
type reshardCommand struct {
	connection connect.Flags
}

func newReshard() *cobra.Command {
	r := &reshardCommand{}
	cmd := &cobra.Command{
		Use:   "reshard NUMBER",
		Short: "Change the number of shards of a running deployment",
		Long: `Gives a running deployment another number of shards. All leases stay held under their
tokens. The locks are copied into new buckets while the nodes go on; then requests wait
until what has changed since is copied, too, and the nodes use the new buckets: some
tens of milliseconds, seconds with a million locks, 10 seconds at most. Each lease then
runs its whole TTL again, as after the failure of a node.

All nodes must run a version that knows this command, and the user needs the rights of
a node. If the command fails or is interrupted, or a node cannot follow, the deployment
goes on with the shards that it had. The old buckets stay; remove none of them.`,
		Example:               `  holdfast reshard 4 --server nats://nats.example.com`,
		Args:                  cli.OneArgument("name the number of shards, as in: %s 4"),
		ValidArgsFunction:     cobra.NoFileCompletions,
		DisableFlagsInUseLine: true,
		RunE:                  r.run,
	}
	r.connection.AddTo(cmd)
	return cmd
}

func (r *reshardCommand) run(cmd *cobra.Command, args []string) error {
	if err := r.connection.Load(cmd.Flags()); err != nil {
		return err
	}
	number := cli.NewNumber(0, 1, jetstream.MaxShards)
	if err := number.Set(args[0]); err != nil {
		return exit.Usagef("the number of shards: %w", err)
	}
	nc, err := r.connection.Open(cmd.Context(), "reshard", cmd.ErrOrStderr())
	if err != nil {
		return err
	}
	defer nc.Close()
	bar := display.NewGauge(cmd.ErrOrStderr())
	defer bar.Clear()
	result, err := reshard.Run(cmd.Context(), reshard.Config{
		Conn: nc, Prefix: messages.Prefix(r.connection.Prefix), Shards: uint32(number.Value), Log: warnings(cmd),
		Progress: func(step reshard.Step, done float64) {
			bar.Show((float64(step)+done)/float64(len(reshard.Steps())), step.String())
		},
	})
	bar.Clear()
	switch {
	case errors.Is(err, reshard.ErrRefused):
		return exit.Errorf(exit.Unexpected, "%w; nothing was changed", err)
	case err != nil:
		return storageError(cmd.Context(), &r.connection, err)
	}
	_, err = fmt.Fprintf(cmd.OutOrStdout(), "%s instead of %d; requests have waited for %s at most\n",
		display.Count(int(result.Is.Count), "shard"), result.Was.Count,
		display.Duration(result.Waited.Round(time.Millisecond)))
	if err == nil && !result.Open {
		return exit.Errorf(exit.Unexpected, "not every new shard has an owner yet: see holdfast doctor")
	}
	return err
}
