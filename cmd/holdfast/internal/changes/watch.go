package changes

import (
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/holdfast-io/holdfast/clients/holdfast"
	"github.com/holdfast-io/holdfast/cmd/holdfast/internal/cli"
	"github.com/holdfast-io/holdfast/cmd/holdfast/internal/connect"
	"github.com/holdfast-io/holdfast/cmd/holdfast/internal/display"
	"github.com/holdfast-io/holdfast/cmd/holdfast/internal/exit"
	"github.com/holdfast-io/holdfast/cmd/holdfast/internal/settings"
)

// watch is the command that shows changes of locks.
type watch struct {
	connection connect.Flags
	json       bool
	present    bool
	since      cli.Duration
	position   position
	count      cli.Number

	pattern cli.Pattern
}

// bookmarkEvery is the interval of positions in JSON while nothing changes.
const bookmarkEvery = 10 * time.Second

func newWatch() *cobra.Command {
	w := &watch{
		since: cli.NewDuration(0, time.Second, 10*365*24*time.Hour),
		count: cli.NewNumber(0, 1, 1_000_000_000),
	}
	cmd := &cobra.Command{
		Use:   "watch [PATTERN]",
		Short: "Show changes of locks as they happen",
		Long: `Shows every change of the locks on resources that match the pattern, from now on
until Ctrl-C: acquired, extended, released, expired and broken. It reads the
journals, so no change is missed while the connection is interrupted. Ephemeral
leases are not in the journals.

In the pattern, * matches one whole level between dots, and > at the end matches
one or more levels; quote it for the shell.`,
		Example: `  holdfast watch
  holdfast watch 'orders.*' --since 1h
  holdfast watch 'orders.>' --present
  holdfast watch --tenant ORDERS
  holdfast watch --json | jq -r .event.lease.resource`,
		Args:              cobra.ArbitraryArgs,
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE:              w.run,
	}
	cli.AddFlags(cmd, "Watch", func(f *pflag.FlagSet) {
		f.BoolVar(&w.present, "present", false, "show the held locks first")
		f.Var(&w.since, "since", "start this long ago, or at the beginning of the journal")
		f.Var(&w.position, "position", "continue after this position, as printed by --json")
		f.Var(&w.count, "count", "stop after this number of changes")
	})
	cli.AddJSON(cmd, &w.json, "print each change as one line of JSON, with the position after it")
	w.connection.AddTo(cmd)
	w.connection.AddTenants(cmd)
	return cmd
}

func (w *watch) run(cmd *cobra.Command, args []string) error {
	if err := w.load(cmd, args); err != nil {
		return err
	}
	return w.connection.Client(cmd, "watch", func(c *holdfast.Client) error { return w.show(cmd, c) })
}

func (w *watch) show(cmd *cobra.Command, c *holdfast.Client) error {
	s := &eventWriter{out: cmd.OutOrStdout(), errs: cmd.ErrOrStderr(), json: w.json, left: w.count.Value}
	if errs := cmd.ErrOrStderr(); display.Columns(errs) > 0 { // a person looks at it
		_, _ = fmt.Fprintf(errs, "holdfast: watching the locks that match %s%s, until Ctrl-C\n",
			display.Name(w.pattern.Text), w.connection.OfTenant())
	}
	err := s.show(cmd.Context(), c, w.pattern.Key, w.options()...)
	for gap := (*holdfast.CompactedError)(nil); errors.As(err, &gap); {
		if s.begun || !w.position.IsZero() {
			return exit.Errorf(exit.Unexpected,
				"the journal of shard %d now begins at %s, and earlier changes are lost to this watch; "+
					"continue from there with --position %s, or start again with --present", gap.Shard,
				stamp(gap.Begins),
				gap.Oldest)
		}
		err = s.goOn(cmd.Context(), c, w.pattern.Key, gap, w.options()...)
	}
	return watchFailure(&w.connection, err)
}

func (w *watch) load(cmd *cobra.Command, args []string) error {
	s, err := settings.Load(cmd.Flags())
	if err != nil {
		return err
	}
	if w.pattern, err = cli.OnePattern(cmd, args); err != nil {
		return err
	}
	return errors.Join(
		s.Exclude("position", []string{"since", "present"}, "they select different beginnings"),
		s.Exclude("since", []string{"present"}, "one shows the past, the other the present"),
		w.connection.Check(s),
	)
}

func (w *watch) options() []holdfast.WatchOption {
	options := []holdfast.WatchOption{holdfast.From(w.position.Position), holdfast.OfTenant(w.connection.Tenant)}
	if w.present {
		options = append(options, holdfast.Present())
	}
	if w.since.Duration > 0 {
		options = append(options, holdfast.Since(time.Now().Add(-w.since.Duration)))
	}
	if w.json {
		options = append(options, holdfast.Bookmarks(bookmarkEvery))
	}
	return options
}

// watchFailure maps an error of a watch to an exit code.
func watchFailure(c *connect.Flags, err error) error {
	switch {
	case errors.Is(err, holdfast.ErrInvalid):
		return exit.Usagef("%w", causeOf(err))
	case errors.Is(err, holdfast.ErrUnavailable):
		return exit.Errorf(exit.Unavailable, "cannot read the journal at %s: %w", c.Where(), causeOf(err))
	}
	return err
}

// causeOf returns the cause of an error of the client, without the name of its operation.
func causeOf(err error) error {
	if e, is := errors.AsType[*holdfast.Error](err); is && e.Cause != nil {
		return e.Cause
	}
	return err
}

// position is a flag's value.
type position struct{ holdfast.Position }

// Set reads a position.
func (p *position) Set(text string) (err error) {
	if p.Position, err = holdfast.ParsePosition(text); err != nil || p.IsZero() {
		return errors.New("a position as printed by --json")
	}
	return nil
}

// Type is what help calls such a value.
func (p *position) Type() string { return "POSITION" }
