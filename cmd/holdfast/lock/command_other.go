//go:build !unix

package lock

import (
	"github.com/spf13/cobra"

	"github.com/holdfast-io/holdfast/cmd/holdfast/internal/exit"
)

// New returns a command that always fails: without process groups it could not end all processes of a command.
func New() *cobra.Command {
	return &cobra.Command{
		Use:   "lock RESOURCE... -- COMMAND [ARG...]",
		Short: "Run a command under a lock (on Unix only)",
		Args:  cobra.ArbitraryArgs,
		RunE: func(*cobra.Command, []string) error {
			return exit.Usagef("lock requires the process groups of Unix, which this system does not have")
		},
	}
}
