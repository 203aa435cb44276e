//go:build !unix

package main

import "github.com/spf13/cobra"

// newUnder refuses: without process groups nobody can be sure that a command has ended.
func newUnder() *cobra.Command {
	return &cobra.Command{
		Use:   "lock RESOURCE... -- COMMAND [ARG...]",
		Short: "Run a command under a lock (on Unix only)",
		Args:  cobra.ArbitraryArgs,
		RunE: func(*cobra.Command, []string) error {
			return usage("lock needs the process groups of Unix, which this system has not")
		},
	}
}
