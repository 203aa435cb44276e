package commands

import (
	"github.com/spf13/cobra"

	"github.com/holdfast-io/holdfast/cmd/holdfast/internal/cli"
)

// newHelp is the help command of cobra, except that an unknown topic is an error.
func newHelp() *cobra.Command {
	return &cobra.Command{
		Use:   "help [TOPIC]",
		Short: "Show help for a command or a topic",
		ValidArgsFunction: func(cmd *cobra.Command, _ []string, _ string) ([]cobra.Completion,
			cobra.ShellCompDirective) {
			return topics(cmd.Root()), cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			topic, rest, err := cmd.Root().Find(args)
			if err != nil || len(rest) > 0 {
				return cli.KnownCommand(cmd.Root(), args)
			}
			topic.InitDefaultHelpFlag()
			return topic.Help()
		},
	}
}

func topics(root *cobra.Command) []cobra.Completion {
	var found []cobra.Completion
	for _, c := range root.Commands() {
		if !c.Hidden {
			found = append(found, cobra.CompletionWithDesc(c.Name(), c.Short))
		}
	}
	return found
}
