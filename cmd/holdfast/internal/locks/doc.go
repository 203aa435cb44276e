// Package locks has the commands about locks: each sends a request until it is answered, and prints the answer.
package locks

import "github.com/spf13/cobra"

// Commands returns the commands.
func Commands() []*cobra.Command {
	return []*cobra.Command{
		newAcquire(), newExtend(), newRelease(), newGet(), newList(), newDeadlocks(), newBreak(), newConfirm(),
	}
}
