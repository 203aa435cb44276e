package main

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/holdfast-io/holdfast/cmd/holdfast/internal/cli"
	"github.com/holdfast-io/holdfast/cmd/holdfast/internal/connect"
	"github.com/holdfast-io/holdfast/cmd/holdfast/internal/display"
	"github.com/holdfast-io/holdfast/cmd/holdfast/internal/exit"
	"github.com/holdfast-io/holdfast/cmd/holdfast/internal/settings"
	"github.com/holdfast-io/holdfast/messages"
)

// list is the command that lists held resources.
type list struct {
	connection connect.Flags
	json       bool
	limit      cli.Number
	watch      cli.Interval

	pattern pattern
	asker   *asker
}

func newList() *cobra.Command {
	l := &list{limit: cli.NewNumber(0, 1, 1_000_000_000), watch: cli.NewInterval()}
	cmd := &cobra.Command{
		Use:     "ls [PATTERN]",
		Aliases: []string{"list"},
		Short:   "List held resources",
		Long: `Lists held resources with owner, token, remaining time and the number of waiting
requests. The node answers from memory, without confirmation.

In the pattern, * matches one whole level between dots, and > at the end matches
one or more levels; quote it for the shell.`,
		Example: `  holdfast ls
  holdfast ls 'orders.*'
  holdfast ls 'orders.>' --watch 5s
  holdfast ls --json | jq -r .resource`,
		Args:              cobra.ArbitraryArgs, // one may be the value of --watch
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE:              l.run,
	}
	cli.AddFlags(cmd, "Listing", func(f *pflag.FlagSet) {
		f.Var(&l.limit, "limit", "maximum number of leases; the node selects which")
		f.Var(&l.watch, "watch", "repeat the listing every `INTERVAL` until Ctrl-C")
		f.Lookup("watch").NoOptDefVal = l.watch.Bare()
	})
	cli.AddFlags(cmd, cli.SectionOutput, func(f *pflag.FlagSet) {
		f.BoolVar(&l.json, "json", false, "print each lease as one line of JSON, in the order of the node")
	})
	l.connection.AddTo(cmd)
	return cmd
}

func (l *list) run(cmd *cobra.Command, args []string) error {
	if err := l.load(cmd, args); err != nil {
		return err
	}
	nc, err := l.connection.Open(cmd.Context(), string(opList), cmd.ErrOrStderr())
	if err != nil {
		return err
	}
	defer nc.Close()
	if l.asker, err = newAsker(&l.connection, nc); err != nil {
		return err
	}
	defer l.asker.close()
	switch {
	case l.json:
		return l.printJSON(cmd)
	case l.watch.On:
		return l.follow(cmd)
	}
	return l.print(cmd)
}

func (l *list) load(cmd *cobra.Command, args []string) error {
	s, err := settings.Load(cmd.Flags())
	if err != nil {
		return err
	}
	if args, err = l.watch.Take(args, cmd.ArgsLenAtDash()); err != nil {
		return err
	}
	if len(args) > 1 {
		return exit.Usagef("%s takes one pattern, got %d: %s; quote a name with spaces or stars",
			cmd.CommandPath(), len(args), cli.QuotedList(args))
	}
	if len(args) == 1 {
		if l.pattern, err = parsePattern(args[0]); err != nil {
			return err
		}
	}
	return errors.Join(
		s.Exclude("json", []string{"watch"}, "successive listings could not be told apart"),
		l.connection.Check(s),
	)
}

func (l *list) printJSON(cmd *cobra.Command) error {
	return l.pages(cmd.Context(), cmd.OutOrStdout(), func(leases []*messages.Lease) error {
		return printJSON(cmd.OutOrStdout(), leases)
	})
}

func printJSON(w io.Writer, leases []*messages.Lease) error {
	var b strings.Builder
	for _, lease := range leases {
		line, err := messages.Encode(messages.JSON, lease)
		if err != nil {
			return fmt.Errorf("write a lease as JSON: %w", err)
		}
		b.WriteString(display.JSON(line) + "\n")
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func (l *list) print(cmd *cobra.Command) error {
	out := cmd.OutOrStdout()
	leases, err := l.all(cmd)
	if err != nil {
		return err
	}
	_, err = io.WriteString(out, l.text(cmd, leases, display.SizeOf(out).Columns))
	return err
}

// all returns the leases sorted by resource.
func (l *list) all(cmd *cobra.Command) ([]*messages.Lease, error) {
	var all []*messages.Lease
	err := l.pages(cmd.Context(), cmd.OutOrStdout(), func(leases []*messages.Lease) error {
		all = append(all, leases...)
		return nil
	})
	slices.SortFunc(all, func(a, b *messages.Lease) int { return strings.Compare(a.GetResource(), b.GetResource()) })
	return all, err
}

// text returns the listing for a person, at most columns wide; 0: no bound.
func (l *list) text(cmd *cobra.Command, leases []*messages.Lease, columns int) string {
	if len(leases) == 0 {
		return "no locks are held" + l.pattern.that() + "\n"
	}
	return tableOf(leases, l.waiting(cmd.Context(), leases)).Text(columns)
}

// pattern selects resources; the zero pattern selects all.
type pattern struct{ text, key string }

// parsePattern reads a resource that may contain wildcards. Other levels are encoded as in a key, so that users
// write names as with the other commands.
func parsePattern(text string) (pattern, error) {
	name := messages.NormalizeResource(text)
	key, err := encodePattern(name)
	if err == nil {
		_, err = messages.ParsePattern(key)
	}
	if err != nil {
		return pattern{}, exit.Usagef("the pattern: a resource in which * is one whole level and > at the end is the rest, got %s",
			display.Quote(text))
	}
	return pattern{text: text, key: key}, nil
}

// encodePattern keeps wildcards, misplaced ones too: messages.ParsePattern refuses those.
func encodePattern(name string) (string, error) {
	if !strings.ContainsAny(name, "*>") {
		return messages.EncodeKey(name)
	}
	levels := strings.Split(name, ".")
	for i, level := range levels {
		if strings.ContainsAny(level, "*>") {
			continue
		}
		key, err := messages.EncodeKey(level)
		if err != nil {
			return "", err
		}
		levels[i] = key
	}
	return strings.Join(levels, "."), nil
}

// that returns the pattern as a relative clause.
func (p pattern) that() string {
	if p.text == "" {
		return ""
	}
	return " that match " + display.Name(p.text)
}
