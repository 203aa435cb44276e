package commands

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"google.golang.org/protobuf/proto"

	"github.com/holdfast-io/holdfast/cmd/holdfast/internal/cli"
	"github.com/holdfast-io/holdfast/cmd/holdfast/internal/connect"
	"github.com/holdfast-io/holdfast/cmd/holdfast/internal/display"
	"github.com/holdfast-io/holdfast/cmd/holdfast/internal/settings"
	"github.com/holdfast-io/holdfast/messages"
)

// list is the command that lists held resources.
type list struct {
	connection connect.Flags
	json       bool
	waiters    bool
	heldBack   bool
	limit      cli.Number
	watch      cli.Interval

	pattern cli.Pattern
	asker   *asker
}

func newList() *cobra.Command {
	l := &list{limit: cli.NewNumber(0, 1, 1_000_000_000), watch: cli.NewInterval()}
	cmd := &cobra.Command{
		Use:     "ls [PATTERN]",
		Aliases: []string{"list"},
		Short:   "List held resources",
		Long: `Lists held resources with owner, token, remaining time and the number of waiting
requests. A shared resource has a line for each of its holders, with the kind and the
numbers of its permits, the slots. The node answers from memory, without confirmation.

--held-back lists the lost leases whose resources are held back, until a delay is over
or the loss is confirmed.

In the pattern, * matches one whole level between dots, and > at the end matches
one or more levels; quote it for the shell.`,
		Example: `  holdfast ls
  holdfast ls 'orders.*'
  holdfast ls 'orders.>' --watch 5s
  holdfast ls --waiters
  holdfast ls --held-back
  holdfast ls --tenant ORDERS
  holdfast ls --json | jq -r .resource`,
		Args:              cobra.ArbitraryArgs, // one may be the value of --watch
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE:              l.run,
	}
	cli.AddFlags(cmd, "Listing", func(f *pflag.FlagSet) {
		f.Var(&l.limit, "limit", "maximum number of leases; the node selects which")
		f.BoolVar(&l.waiters, "waiters", false, "show the waiting requests below each resource, at most the first 100")
		f.BoolVar(&l.heldBack, "held-back", false, "list the lost leases whose resources are held back, instead of those that are held")
		f.Var(&l.watch, "watch", "repeat the listing every `INTERVAL` until Ctrl-C")
		f.Lookup("watch").NoOptDefVal = l.watch.Bare()
	})
	cli.AddJSON(cmd, &l.json, "print each lease, and each queue, as one line of JSON, in the order of the node")
	l.connection.AddTo(cmd)
	l.connection.AddTenants(cmd)
	return cmd
}

func (l *list) run(cmd *cobra.Command, args []string) error {
	if err := l.load(cmd, args); err != nil {
		return err
	}
	return withAsker(cmd, &l.connection, string(opList), func(a *asker) error {
		l.asker = a
		switch {
		case l.json:
			return l.printJSON(cmd)
		case l.watch.On:
			return l.follow(cmd)
		}
		return l.print(cmd)
	})
}

func (l *list) load(cmd *cobra.Command, args []string) error {
	s, err := settings.Load(cmd.Flags())
	if err != nil {
		return err
	}
	if args, err = l.watch.Take(args, cmd.ArgsLenAtDash()); err != nil {
		return err
	}
	if l.pattern, err = cli.OnePattern(cmd, args); err != nil {
		return err
	}
	return errors.Join(
		s.Exclude("json", []string{"watch"}, "successive listings could not be told apart"),
		l.connection.Check(s),
	)
}

func (l *list) printJSON(cmd *cobra.Command) error {
	queued := cli.Resource{} // that of the last queue; the leases of a resource, and so its queue, may be on two pages
	return l.pages(cmd.Context(), cmd.OutOrStdout(), func(page *messages.ListReply) error {
		var lines []proto.Message
		for _, lease := range page.GetLeases() {
			lines = append(lines, lease)
		}
		for _, queue := range page.GetQueues() {
			if cli.ResourceOf(queue) != queued {
				lines = append(lines, queue)
			}
			queued = cli.ResourceOf(queue)
		}
		return printJSON(cmd.OutOrStdout(), lines)
	})
}

func printJSON(w io.Writer, lines []proto.Message) error {
	var b strings.Builder
	for _, m := range lines {
		line, err := messages.Encode(messages.JSON, m)
		if err != nil {
			return fmt.Errorf("write the listing as JSON: %w", err)
		}
		b.WriteString(display.JSON(line) + "\n")
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func (l *list) print(cmd *cobra.Command) error {
	out := cmd.OutOrStdout()
	all, err := l.all(cmd.Context(), out)
	if err != nil {
		return err
	}
	_, err = io.WriteString(out, l.text(cmd, all.rows(), display.SizeOf(out).Columns))
	return err
}

// text returns the listing for a person, at most columns wide; 0: no bound.
func (l *list) text(cmd *cobra.Command, rows []row, columns int) string {
	switch {
	case len(rows) == 0 && l.heldBack:
		return "no resources" + l.of() + l.pattern.That() + " are held back\n"
	case len(rows) == 0:
		return "no locks" + l.of() + " are held" + l.pattern.That() + "\n"
	}
	return tableOf(rows, l.waiting(cmd.Context(), rows)).Text(columns)
}

// of says whose resources are listed.
func (l *list) of() string { return ofTenants(l.connection.Tenant) }

// ofTenants returns what --tenant selects, for a sentence.
func ofTenants(tenant string) string {
	if tenant == messages.AllTenants {
		return ""
	}
	return cli.OfTenant(tenant)
}
