//go:build unix

package lock

import (
	"cmp"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/holdfast-io/holdfast/cmd/holdfast/internal/cli"
	"github.com/holdfast-io/holdfast/cmd/holdfast/internal/exit"
	"github.com/holdfast-io/holdfast/messages"
)

// NewElect returns the elect command: the lock command for a lock that shows the leader's value.
func NewElect() *cobra.Command {
	u := newCommand()
	u.election = true
	cmd := &cobra.Command{
		Use:   "elect NAME -- COMMAND [ARG...]",
		Short: "Run a command while leading an election",
		Long: `Waits until it leads the election, runs the command, and resigns when the command has
ended; it exits as holdfast lock does. An election is a lock: candidates lead in the
order in which they came. If the lock is lost, the command gets SIGTERM, and SIGKILL
before another candidate can lead. HOLDFAST_TOKEN in its environment is the fencing
token.

The value, such as an address, is what holdfast leader shows. Start the command again
for another term: it runs once for each.`,
		Example: `  holdfast elect scheduler --value 10.0.0.7:8080 -- ./scheduler
  holdfast leader scheduler --watch`,
		DisableFlagsInUseLine: true,
	}
	cli.AddFlags(cmd, "Election", func(f *pflag.FlagSet) {
		f.StringVar(&u.value, "value", "", "`TEXT` that the leader publishes (default the name of the owner)")
		f.BoolVar(&u.try, "try", false, "do not wait if another candidate leads")
		f.Var(&u.wait, "wait", "time to wait for the leadership (default unlimited)")
		u.commonLeaseFlags(f)
	})
	u.addTo(cmd)
	return cmd
}

// checkElection refuses what is no election, and puts the value where observers find it.
func (u *command) checkElection() error {
	if len(u.resources) > 1 {
		return exit.Usagef("elect takes one name, got %d: %s", len(u.resources), cli.QuotedList(u.resources))
	}
	u.metadata[messages.MetadataValue] = cmp.Or(u.value, u.owner)
	return nil
}
