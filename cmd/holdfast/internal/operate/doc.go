// Package operate has the commands for operators of a deployment: its members, its health, its backups and its shards.
package operate

import "github.com/spf13/cobra"

// Commands returns the commands. version is that of the program, which a backup has in it.
func Commands(version string) []*cobra.Command {
	return []*cobra.Command{newMembers(), newDoctor(), newBackup(version), newRestore(), newReshard()}
}
