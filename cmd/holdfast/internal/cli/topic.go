package cli

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
)

// Topic is a help topic that shows flags once, so that the help of commands need not: see [AddTopicFlags].
type Topic struct {
	Name string
	// Summary takes the place of the names of the flags in the help of a command. Empty: their names.
	Summary string
}

// Command returns the topic as a command without an action. It shows the flags of cmd that are of this topic.
func (t *Topic) Command(cmd *cobra.Command, short, long string) *cobra.Command {
	var b strings.Builder
	b.WriteString(long + "\n")
	for _, s := range sectionsOf(cmd.Flags(), t.Name) {
		if s.flags.HasFlags() {
			fmt.Fprintf(&b, "\n%s:\n%s", s.title, s.flags.FlagUsagesWrapped(minColumns))
		}
	}
	return &cobra.Command{Use: t.Name, Short: short, Long: strings.TrimRight(b.String(), "\n")}
}
