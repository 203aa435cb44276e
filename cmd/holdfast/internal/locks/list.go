package locks

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"iter"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"google.golang.org/protobuf/proto"

	"github.com/holdfast-io/holdfast/cmd/holdfast/internal/ask"
	"github.com/holdfast-io/holdfast/cmd/holdfast/internal/cli"
	"github.com/holdfast-io/holdfast/cmd/holdfast/internal/connect"
	"github.com/holdfast-io/holdfast/cmd/holdfast/internal/display"
	"github.com/holdfast-io/holdfast/cmd/holdfast/internal/exit"
	"github.com/holdfast-io/holdfast/messages"
)

// list is the command that lists held resources.
type list struct {
	connection connect.Flags
	json       bool
	waiters    bool
	heldBack   bool
	by         cli.Choice
	limit      cli.Number

	pattern cli.Pattern
	asker   *asker
}

func newList() *cobra.Command {
	l := &list{limit: cli.NewNumber(0, 1, 1_000_000_000), by: cli.NewChoice("name", "name", "queue", "wait", "hold")}
	cmd := &cobra.Command{
		Use:     "ls [PATTERN]",
		Aliases: []string{"list"},
		Short:   "List held resources",
		Long: `Lists held resources with owner, token, remaining time and the number of waiting
requests. A shared resource has a line for each of its holders, with the kind and the
numbers of its permits, the slots. The node answers from memory, without confirmation.

--by queue lists the resources for which most requests wait, --by wait those for which
one has waited longest, also if they are held back and so have no holder, and --by hold
the leases that have been held longest: the first 100, or --limit, of the whole deployment.

--held-back lists the lost leases whose resources are held back, until a delay is over
or the loss is confirmed.

In the pattern, * matches one whole level between dots, and > at the end matches
one or more levels; quote it for the shell.`,
		Example: `  holdfast ls
  holdfast ls 'orders.*'
  holdfast ls --waiters
  holdfast ls --by queue --limit 10
  holdfast ls --held-back
  holdfast ls --tenant ORDERS
  holdfast ls --json | jq -r .resource`,
		Args:              cobra.ArbitraryArgs,
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE:              l.run,
	}
	cli.AddFlags(cmd, "Listing", func(f *pflag.FlagSet) {
		f.Var(&l.limit, "limit", "maximum number of leases; without --by the node selects which")
		f.Var(&l.by, "by", l.by.List()+
			": sort by name, or list only the longest queues, the oldest waits or the longest holds")
		f.BoolVar(&l.waiters, "waiters", false, "show the waiting requests below each resource, at most the first 100")
		f.BoolVar(&l.heldBack, "held-back", false,
			"list the lost leases whose resources are held back, instead of those that are held")
	})
	cli.AddJSON(cmd, &l.json, "print each lease, and each queue, as one line of JSON, in the order of the node")
	l.connection.AddTo(cmd)
	l.connection.AddTenants(cmd)
	return cmd
}

func (l *list) run(cmd *cobra.Command, args []string) (err error) {
	if l.pattern, err = cli.OnePattern(cmd, args); err != nil {
		return err
	}
	if err := l.checkRanking(); err != nil {
		return err
	}
	if err := l.connection.Load(cmd.Flags()); err != nil {
		return err
	}
	return withAsker(cmd, &l.connection, string(opList), func(a *asker) error {
		l.asker = a
		if l.json {
			return l.printJSON(cmd)
		}
		return l.print(cmd)
	})
}

// ranking returns what the listing is sorted by.
func (l *list) ranking() messages.Ranking {
	return messages.Ranking(messages.Ranking_value[strings.ToUpper(l.by.Word)]) // that of name is UNRANKED
}

// checkRanking refuses what a ranking has not.
func (l *list) checkRanking() error {
	switch {
	case l.ranking() == messages.Ranking_UNRANKED:
		return nil
	case l.heldBack:
		return exit.Usagef("--by %s and --held-back exclude each other: leave out one of them", l.by.Word)
	case l.limit.Value > int(messages.MaxListLimit):
		return exit.Usagef("--limit: at most %d with --by %s, got %d", messages.MaxListLimit, l.by.Word, l.limit.Value)
	}
	l.limit.Value = cmp.Or(l.limit.Value, int(messages.DefaultListLimit))
	return nil
}

// isOfQueues reports whether the entries of the listing are queues.
func (l *list) isOfQueues() bool {
	return l.ranking() == messages.Ranking_QUEUE || l.ranking() == messages.Ranking_WAIT
}

// opList is the operation of a listing, which does not concern a single resource.
const opList messages.Operation = "list"

// pages returns the pages of the listing, with the queues of their resources. With --json a refusal is written to w.
func (l *list) pages(ctx context.Context, w io.Writer, queues bool) iter.Seq2[*messages.ListReply, error] {
	of := &messages.ListRequest{Pattern: l.pattern.Key, Waiters: queues, HeldBack: l.heldBack,
		Tenant: l.connection.Tenant, By: l.ranking()}
	return ask.Pages(of, l.limit.Value, func(r *messages.ListRequest) (*messages.ListReply, error) {
		page := &messages.ListReply{}
		refusal, err := l.asker.page(ctx, question{
			op: opList, subject: messages.Prefix(l.connection.Prefix).List(),
			message: func(time.Duration) proto.Message { return r },
		}, page)
		if err != nil || refusal == nil {
			return page, err
		}
		a := answer{op: opList, Reply: refusal}
		return nil, a.print(w, l.json)
	})
}

// all returns the leases of all pages with their queues.
func (l *list) all(ctx context.Context, w io.Writer) (*listing, error) {
	all := &listing{
		queues: make(map[cli.Resource]*messages.Queue), lost: l.heldBack, by: l.ranking(), now: time.Now(),
	}
	for page, err := range l.pages(ctx, w, l.waiters || !l.isOfQueues()) { // these have their lengths in any case
		if err != nil {
			return nil, err
		}
		all.leases = append(all.leases, page.GetLeases()...)
		for _, q := range page.GetQueues() {
			all.queues[cli.ResourceOf(q)] = q
		}
		if l.isOfQueues() {
			all.ranked = append(all.ranked, page.GetQueues()...)
		}
	}
	return all, nil
}

func (l *list) printJSON(cmd *cobra.Command) error {
	queued := cli.Resource{} // that of the last queue; the leases of a resource, and so its queue, may be on two pages
	for page, err := range l.pages(cmd.Context(), cmd.OutOrStdout(), l.waiters) {
		if err != nil {
			return err
		}
		var leases, queues []proto.Message
		for _, lease := range page.GetLeases() {
			leases = append(leases, lease)
		}
		for _, queue := range page.GetQueues() {
			if cli.ResourceOf(queue) != queued {
				queues = append(queues, queue)
			}
			queued = cli.ResourceOf(queue)
		}
		lines := slices.Concat(leases, queues)
		if l.isOfQueues() {
			lines = slices.Concat(queues, leases)
		}
		if err := printJSON(cmd.OutOrStdout(), lines); err != nil {
			return err
		}
	}
	return nil
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
	_, err = io.WriteString(out, l.text(all, display.Columns(out)))
	return err
}

// text returns the listing for a person, at most columns wide; 0: no bound.
func (l *list) text(all *listing, columns int) string {
	switch {
	case len(all.leases)+len(all.ranked) > 0:
		return all.table(l.waiters).Text(columns)
	case l.isOfQueues():
		return "no request waits for a resource" + l.connection.OfTenant() + l.pattern.That() + "\n"
	case l.heldBack:
		return "no resources" + l.connection.OfTenant() + l.pattern.That() + " are held back\n"
	}
	return "no locks" + l.connection.OfTenant() + " are held" + l.pattern.That() + "\n"
}
