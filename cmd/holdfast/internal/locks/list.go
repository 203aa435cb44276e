package locks

import (
	"context"
	"fmt"
	"io"
	"iter"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"google.golang.org/protobuf/proto"

	"github.com/holdfast-io/holdfast/cmd/holdfast/internal/ask"
	"github.com/holdfast-io/holdfast/cmd/holdfast/internal/cli"
	"github.com/holdfast-io/holdfast/cmd/holdfast/internal/connect"
	"github.com/holdfast-io/holdfast/cmd/holdfast/internal/display"
	"github.com/holdfast-io/holdfast/messages"
)

// list is the command that lists held resources.
type list struct {
	connection connect.Flags
	json       bool
	waiters    bool
	heldBack   bool
	limit      cli.Number

	pattern cli.Pattern
	asker   *asker
}

func newList() *cobra.Command {
	l := &list{limit: cli.NewNumber(0, 1, 1_000_000_000)}
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
  holdfast ls --waiters
  holdfast ls --held-back
  holdfast ls --tenant ORDERS
  holdfast ls --json | jq -r .resource`,
		Args:              cobra.ArbitraryArgs,
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE:              l.run,
	}
	cli.AddFlags(cmd, "Listing", func(f *pflag.FlagSet) {
		f.Var(&l.limit, "limit", "maximum number of leases; the node selects which")
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

// opList is the operation of a listing, which does not concern a single resource.
const opList messages.Operation = "list"

// pages returns the pages of the listing, with the queues of their resources. With --json a refusal is written to w.
func (l *list) pages(ctx context.Context, w io.Writer, queues bool) iter.Seq2[*messages.ListReply, error] {
	of := &messages.ListRequest{Pattern: l.pattern.Key, Waiters: queues, HeldBack: l.heldBack,
		Tenant: l.connection.Tenant}
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
	all := &listing{queues: make(map[cli.Resource][]*messages.Waiter), lost: l.heldBack}
	for page, err := range l.pages(ctx, w, true) {
		if err != nil {
			return nil, err
		}
		all.leases = append(all.leases, page.GetLeases()...)
		for _, q := range page.GetQueues() {
			all.queues[cli.ResourceOf(q)] = q.GetWaiters()
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
	case len(all.leases) > 0:
		return all.table(l.waiters).Text(columns)
	case l.heldBack:
		return "no resources" + l.connection.OfTenant() + l.pattern.That() + " are held back\n"
	}
	return "no locks" + l.connection.OfTenant() + " are held" + l.pattern.That() + "\n"
}
