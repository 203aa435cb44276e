//go:build unix

package agent

import (
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/holdfast-io/holdfast/clients/holdfast"
	"github.com/holdfast-io/holdfast/cmd/holdfast/internal/cli"
	"github.com/holdfast-io/holdfast/cmd/holdfast/internal/connect"
	"github.com/holdfast-io/holdfast/cmd/holdfast/internal/display"
	"github.com/holdfast-io/holdfast/cmd/holdfast/internal/exit"
	"github.com/holdfast-io/holdfast/cmd/holdfast/internal/program"
	"github.com/holdfast-io/holdfast/cmd/holdfast/internal/settings"
	"github.com/holdfast-io/holdfast/messages"
)

// command is the fence-agent command: its flags and its arguments.
type command struct {
	connection   connect.Flags
	limit, retry cli.Duration
	parallel     cli.Number
	by           string
	verbose      bool
	pattern      cli.Pattern
	path         string
	words        []string
}

const (
	// longestPause bounds the pause between two attempts, which doubles after each failure.
	longestPause = time.Minute
	// maxParallel bounds the commands that run at a time, each with a thread of its own.
	maxParallel = 1000
)

// New returns the fence-agent command.
func New() *cobra.Command {
	c := &command{
		limit:    cli.NewDuration(time.Minute, 100*time.Millisecond, 24*time.Hour),
		retry:    cli.NewDuration(time.Second, 10*time.Millisecond, longestPause),
		parallel: cli.NewNumber(8, 1, maxParallel),
	}
	cmd := &cobra.Command{
		Use:   "fence-agent PATTERN -- COMMAND [ARG...]",
		Short: "Run a command for each lost lease, and confirm the loss",
		Long: `Follows the leases on resources that match the pattern. When one is lost and its
resource is held back, runs the command, which has to stop the former holder, and
confirms the loss when the command exits with 0. Then the next request in the queue
acquires the lock. A command that fails is run again until it succeeds or the
resource is no longer held back.

The command must be idempotent, and may exit with 0 only if the holder can do no more
harm. It may run again for the same loss, and when the holder is already stopped; a later
holder may run on the same machine. Of one loss an agent has one run at a time; several
agents each run their command, unless they run under a lock. Its environment has:

  HOLDFAST_RESOURCE         the resource
  HOLDFAST_TENANT           the account of --tenant, if it is given
  HOLDFAST_HOLDER           the owner of the lost lease
  HOLDFAST_TOKEN            its token, 15 digits; of a block the first one
  HOLDFAST_FENCE            the highest number that the holder may have shown to the
                            protected resource, 15 digits: the token, of a block the
                            last one, or the fence of a shared lock. A command that
                            raises the mark of a guard raises it to this number
  HOLDFAST_LOSS             expired or broken, or unknown if the loss was found in a
                            listing
  HOLDFAST_REASON           the reason of the event, which may be empty
  HOLDFAST_METADATA         the metadata of the lease, as a JSON object
  HOLDFAST_METADATA_<KEY>   a single entry, for keys of lower-case letters, digits and
                            _: host is HOLDFAST_METADATA_HOST. Other keys, and values
                            with a NUL, are in the JSON only

Its standard input is empty, and it does not get passwords and tokens of the agent's
login. Clients choose owner and metadata: check them, and quote them in a shell.

A run fails with another exit code, by a signal, or at the end of --command-timeout,
which kills the command with its process group. One that goes on when the resource is no
longer held back is not killed. At most 10 000 losses are handled at a time. The agent
lists what is held back when it starts, after each interruption of its connection, and
every 30 s. When it ends, its commands are killed; the next agent runs them again. Ctrl-C
and SIGTERM end it, with exit code 0.

Before it does anything it looks for the command (exit codes 126 and 127), checks the
pattern (2) and the feature delay of the deployment (2), and reads the journals and the
listing (5, also without the permissions). "following the losses of ..." on standard
error says that it is ready.

In the pattern, * matches one whole level between dots, and > at the end matches
one or more levels; quote it for the shell.`,
		Example: `  holdfast lock disk.7 --confirm --metadata host=db1 -- ./write        # a holder
  holdfast fence-agent 'disk.*' -- sh -c './power-off "$HOLDFAST_METADATA_HOST"'
  holdfast fence-agent '>' --parallel 2 --command-timeout 5m -- ./revoke`,
		DisableFlagsInUseLine: true,
		ValidArgsFunction:     cobra.NoFileCompletions,
		RunE:                  c.run,
	}
	cli.AddFlags(cmd, "Command", func(f *pflag.FlagSet) {
		f.Var(&c.limit, "command-timeout", "time for the command; after it the command is killed, and has failed")
		f.Var(&c.retry, "retry", "pause after a failure; doubles with each, up to 1m")
		f.Var(&c.parallel, "parallel", "commands that run at a time, each for another loss")
	})
	cli.AddFlags(cmd, "Confirmation", func(f *pflag.FlagSet) {
		f.StringVar(&c.by, "by", cli.DefaultOwner(), "`NAME` that events show as the one who confirms")
	})
	cli.AddFlags(cmd, cli.SectionOutput, func(f *pflag.FlagSet) {
		f.BoolVarP(&c.verbose, "verbose", "v", false, "log each run of the command to standard error")
	})
	c.connection.AddTo(cmd)
	c.connection.AddTenant(cmd)
	return cmd
}

// run follows the losses until Ctrl-C, which is not an error.
func (c *command) run(cmd *cobra.Command, args []string) error {
	if err := c.load(cmd, args); err != nil {
		return err
	}
	nc, err := c.connection.Open(cmd.Context(), cmd.Name(), cmd.ErrOrStderr())
	if err != nil {
		return err
	}
	defer nc.Close()
	client, err := holdfast.New(nc, c.connection.Options()...)
	if err != nil {
		return err
	}
	// it holds no lock, so an error leaves nothing behind
	defer func() { _ = c.connection.Close(cmd.Context(), client) }()
	report := display.NewReporter(cmd.ErrOrStderr(), c.verbose)
	defer report.Close()
	return newAgent(c, client, nc, report).run(cmd.Context())
}

// load reads and checks the command line before anything is done.
func (c *command) load(cmd *cobra.Command, args []string) error {
	s, err := settings.Load(cmd.Flags())
	if err != nil {
		return err
	}
	patterns, words, err := program.Split(cmd, args, "pattern", "'disk.*' -- ./power-off")
	if err != nil {
		return err
	}
	if len(patterns) > 1 {
		return exit.Usagef("%s takes one pattern, got %d: %s; quote a name with spaces or stars",
			cmd.CommandPath(), len(patterns), cli.QuotedList(patterns))
	}
	if c.pattern, err = cli.ParsePattern(patterns[0]); err != nil {
		return err
	}
	if err := messages.DefaultLimits().Check(&messages.ConfirmRequest{Token: 1, By: c.by}); err != nil {
		return cli.BadRequest(err)
	}
	if err := c.connection.Check(s); err != nil {
		return err
	}
	c.words = words
	c.path, err = program.Find(words[0])
	return err
}
