package commands

import (
	"cmp"
	"os"

	"github.com/spf13/cobra"

	"github.com/holdfast-io/holdfast/cmd/holdfast/access"
	"github.com/holdfast-io/holdfast/cmd/holdfast/agent"
	"github.com/holdfast-io/holdfast/cmd/holdfast/bench"
	"github.com/holdfast-io/holdfast/cmd/holdfast/demo"
	"github.com/holdfast-io/holdfast/cmd/holdfast/internal/changes"
	"github.com/holdfast-io/holdfast/cmd/holdfast/internal/cli"
	"github.com/holdfast-io/holdfast/cmd/holdfast/internal/connect"
	"github.com/holdfast-io/holdfast/cmd/holdfast/internal/exit"
	"github.com/holdfast-io/holdfast/cmd/holdfast/internal/locks"
	"github.com/holdfast-io/holdfast/cmd/holdfast/internal/operate"
	"github.com/holdfast-io/holdfast/cmd/holdfast/internal/settings"
	"github.com/holdfast-io/holdfast/cmd/holdfast/lock"
	"github.com/holdfast-io/holdfast/cmd/holdfast/serve"
)

// The headings under which help lists the commands.
const (
	groupLocks  = "locks"
	groupServer = "server"
	groupOther  = "other"
	groupTopics = "topics"
)

func newRoot(p *Program) *cobra.Command {
	root := &cobra.Command{
		Use:   cmp.Or(p.Name, "holdfast"),
		Short: "Locks over NATS, with fencing tokens",
		Long: `Holdfast is a lock service over NATS. A lock is a lease with a fencing token: a
number that grows with every grant, so that the protected resource can reject a
holder whose lease has ended.`,
		Example: `  holdfast serve
  holdfast acquire orders.42 --ttl 30s
  holdfast get orders.42
  holdfast release orders.42
  holdfast lock orders.42 -- make report`,
		Version:           programVersion(),
		Args:              cli.KnownCommand,
		ValidArgsFunction: cobra.NoFileCompletions,
		SilenceErrors:     true,
		SilenceUsage:      true,
		PersistentPreRunE: func(cmd *cobra.Command,
			_ []string) error {
			return settings.CheckVariables(cmd, os.Environ())
		},
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	root.SetVersionTemplate("{{.Name}} {{.Version}}\n")
	root.SetUsageFunc(cli.PrintUsage)
	root.SetFlagErrorFunc(cli.FlagError)
	root.SetHelpCommand(newHelp())
	root.AddGroup(
		&cobra.Group{ID: groupLocks, Title: "Locks:"},
		&cobra.Group{ID: groupServer, Title: "Server:"},
		&cobra.Group{ID: groupOther, Title: "Other:"},
		&cobra.Group{ID: groupTopics, Title: "Help topics:"},
	)
	root.SetHelpCommandGroupID(groupOther)
	root.SetCompletionCommandGroupID(groupOther)
	addCommands(root, groupLocks, locks.Commands()...)
	addCommands(root, groupLocks, changes.Commands()...)
	addCommands(root, groupLocks, lock.New(), lock.NewElect(), agent.New())
	addCommands(root, groupServer, operate.Commands(programVersion())...)
	addCommands(root, groupServer, serve.New(programVersion(), p.Trace), access.New())
	addCommands(root, groupOther, bench.New(), demo.New(), newVersion(), newManual(p), newSettings())
	addCommands(root, groupTopics,
		&cobra.Command{Use: "exit-codes", Short: "What the exit codes mean", Long: exitCodesTopic},
		&cobra.Command{Use: "configuration", Short: "Flags, environment variables and the configuration file",
			Long: configurationTopic},
		&cobra.Command{Use: "watchdog", Short: "When holdfast lock feeds a watchdog, and when it resets the machine",
			Long: watchdogTopic},
		connect.NewTopic(),
	)
	addCommands(root, groupTopics, serve.Topics()...)
	addCompletion(root)
	return root
}

// addCompletion adds the completion command of cobra, except that no shell and an unknown shell are errors.
func addCompletion(root *cobra.Command) {
	root.InitDefaultCompletionCmd()
	for _, c := range root.Commands() {
		if c.Name() == "completion" {
			c.Args, c.RunE = cli.KnownCommand, func(cmd *cobra.Command, _ []string) error {
				return exit.Usagef("name the shell, as in: %s bash", cmd.CommandPath())
			}
		}
	}
}

func addCommands(root *cobra.Command, group string, commands ...*cobra.Command) {
	for _, c := range commands {
		c.GroupID = group
		root.AddCommand(c)
	}
}
