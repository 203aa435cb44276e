//go:build !unix

package agent

import (
	"github.com/spf13/cobra"

	"github.com/holdfast-io/holdfast/cmd/holdfast/internal/exit"
)

// New returns a command that always fails: without process groups it could not end all processes of a command.
func New() *cobra.Command {
	return &cobra.Command{
		Use:   "fence-agent PATTERN -- COMMAND [ARG...]",
		Short: "Run a command for each lost lease, and confirm the loss (on Unix only)",
		Args:  cobra.ArbitraryArgs,
		RunE: func(*cobra.Command, []string) error {
			return exit.Usagef("fence-agent requires the process groups of Unix, which this system does not have")
		},
	}
}
