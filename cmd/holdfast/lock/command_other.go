//go:build !unix

package lock

import (
	"github.com/spf13/cobra"

	"github.com/holdfast-io/holdfast/cmd/holdfast/internal/exit"
)

// New and NewElect return commands that always fail: without process groups they could not end all processes of a
// command.

func New() *cobra.Command {
	return unsupported("lock RESOURCE... -- COMMAND [ARG...]", "Run a command under a lock")
}

func NewElect() *cobra.Command {
	return unsupported("elect NAME -- COMMAND [ARG...]", "Run a command while leading an election")
}

func unsupported(use, short string) *cobra.Command {
	return &cobra.Command{
		Use:   use,
		Short: short + " (on Unix only)",
		Args:  cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return exit.Usagef("%s requires the process groups of Unix, which this system does not have", cmd.Name())
		},
	}
}
