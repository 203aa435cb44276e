// Package changes has the commands that show changes of locks, from the journals: watch, history and leader.
package changes

import "github.com/spf13/cobra"

// Commands returns the commands.
func Commands() []*cobra.Command {
	return []*cobra.Command{newWatch(), newHistory(), newLeader()}
}
