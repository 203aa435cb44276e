package main

import (
	"errors"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/holdfast-io/holdfast/clients/holdfast"
	"github.com/holdfast-io/holdfast/cmd/holdfast/internal/cli"
	"github.com/holdfast-io/holdfast/cmd/holdfast/internal/connect"
	"github.com/holdfast-io/holdfast/cmd/holdfast/internal/exit"
	"github.com/holdfast-io/holdfast/cmd/holdfast/internal/settings"
)

// watch is the command that shows changes as they happen.
type watch struct {
	connection connect.Flags
	json       bool
	present    bool
	since      cli.Duration
	position   position
	count      cli.Number

	pattern pattern
}

// bookmarkEvery is how often a watch in JSON tells a position when nothing happens.
const bookmarkEvery = 10 * time.Second

func newWatch() *cobra.Command {
	w := &watch{
		since: cli.NewDuration(0, time.Second, 10*365*24*time.Hour),
		count: cli.NewNumber(0, 1, 1_000_000_000),
	}
	cmd := &cobra.Command{
		Use:   "watch [PATTERN]",
		Short: "Show what happens to locks, as it happens",
		Long: `Shows every change of the locks on resources that the pattern selects, from now on
until Ctrl-C: who got one, extended it, gave it back, let it run out or lost it to
an operator. It reads the journals, so that nothing is left out while the
connection is interrupted. Ephemeral leases are not in them.

In the pattern, * stands for one whole level between dots, and > at the end for one
or more levels; put it in quotes for the shell.`,
		Example: `  holdfast watch
  holdfast watch 'orders.*' --since 1h
  holdfast watch 'orders.>' --present
  holdfast watch --json | jq -r .event.lease.resource`,
		Args:              atMostOnePattern,
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE:              w.run,
	}
	cli.AddFlags(cmd, "Watch", func(f *pflag.FlagSet) {
		f.BoolVar(&w.present, "present", false, "show first who holds what")
		f.Var(&w.since, "since", "begin so long ago, or where the journal begins")
		f.Var(&w.position, "position", "go on behind this position, as --json has shown it")
		f.Var(&w.count, "count", "stop after so many changes")
	})
	cli.AddFlags(cmd, cli.SectionOutput, func(f *pflag.FlagSet) {
		f.BoolVar(&w.json, "json", false, "print each change as one line of JSON, with the position behind it")
	})
	w.connection.AddTo(cmd)
	return cmd
}

func (w *watch) run(cmd *cobra.Command, args []string) error {
	if err := w.load(cmd, args); err != nil {
		return err
	}
	return w.connection.Client(cmd, "watch", func(c *holdfast.Client) error { return w.show(cmd, c) })
}

func (w *watch) show(cmd *cobra.Command, c *holdfast.Client) error {
	s := &screenplay{out: cmd.OutOrStdout(), errs: cmd.ErrOrStderr(), json: w.json, left: w.count.Value}
	err := s.show(cmd.Context(), c, w.pattern.key, w.options()...)
	for gap := (*holdfast.CompactedError)(nil); errors.As(err, &gap); {
		if s.begun || !w.position.IsZero() {
			return exit.Errorf(exit.Unexpected, "the journal of shard %d begins at %s now, and what came before is lost to this watch; "+
				"go on from there with --position %s, or begin afresh with --present", gap.Shard, stamp(gap.Begins), gap.Oldest)
		}
		err = s.goOn(cmd.Context(), c, w.pattern.key, gap, w.options()...)
	}
	return watchFailure(&w.connection, err)
}

func (w *watch) load(cmd *cobra.Command, args []string) error {
	s, err := settings.Load(cmd.Flags())
	if err != nil {
		return err
	}
	if len(args) == 1 {
		if w.pattern, err = parsePattern(args[0]); err != nil {
			return err
		}
	}
	return errors.Join(
		s.Exclude("position", []string{"since", "present"}, "one place to begin is enough"),
		s.Exclude("since", []string{"present"}, "one tells what was, the other what is"),
		w.connection.Check(s),
	)
}

func (w *watch) options() []holdfast.WatchOption {
	options := []holdfast.WatchOption{holdfast.From(w.position.Position)}
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

// watchFailure says in our words why a watch has failed.
func watchFailure(c *connect.Flags, err error) error {
	switch {
	case errors.Is(err, holdfast.ErrInvalid):
		return exit.Usagef("%w", causeOf(err))
	case errors.Is(err, holdfast.ErrUnavailable):
		return exit.Errorf(exit.Unavailable, "cannot read the journal at %s: %w", c.Where(), causeOf(err))
	}
	return err
}

// causeOf leaves out what a command says by itself.
func causeOf(err error) error {
	var e *holdfast.Error
	if errors.As(err, &e) && e.Cause != nil {
		return e.Cause
	}
	return err
}

// atMostOnePattern lets a command have one argument or none.
func atMostOnePattern(cmd *cobra.Command, args []string) error {
	if len(args) > 1 {
		return exit.Usagef("%s takes one pattern, got %d: %s; put a name with spaces or stars in quotes",
			cmd.CommandPath(), len(args), cli.QuotedList(args))
	}
	return nil
}

// position is a flag's value.
type position struct{ holdfast.Position }

// Set reads a position.
func (p *position) Set(text string) (err error) {
	if p.Position, err = holdfast.ParsePosition(text); err != nil || p.IsZero() {
		return errors.New("a position as --json has shown it")
	}
	return nil
}

// Type is what help calls such a value.
func (p *position) Type() string { return "POSITION" }
