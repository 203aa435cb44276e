package locks

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"google.golang.org/protobuf/proto"

	"github.com/holdfast-io/holdfast/cmd/holdfast/internal/cli"
	"github.com/holdfast-io/holdfast/cmd/holdfast/internal/deadlock"
	"github.com/holdfast-io/holdfast/cmd/holdfast/internal/display"
	"github.com/holdfast-io/holdfast/cmd/holdfast/internal/exit"
	"github.com/holdfast-io/holdfast/messages"
)

// deadlocks is the command that finds owners that wait for one another.
type deadlocks struct{ list }

func newDeadlocks() *cobra.Command {
	d := &deadlocks{}
	cmd := &cobra.Command{
		Use:   "deadlocks [PATTERN]",
		Short: "Find owners that wait for one another",
		Long: `Finds cycles of owners of which each waits for a lock that the next one holds, so
that none of them can go on until a wait or a lease ends. It changes nothing; break
one of the leases to end a deadlock.

An owner waits in vain if its request does not fit even after all owners that do not
wait have released their leases. Of each owner the shortest cycle is shown, once. All
of a cycle existed at one moment: it is found in a listing, and then confirmed by
looking at its locks again. An owner counts as one process: programs that share an
owner may seem to wait for themselves. Owners of one name in two tenants are two.

Only locks that match the pattern are looked at, and of each resource the first 100
requests and holders. The user needs the permissions for holdfast.list and
holdfast.get.<key>. The exit code is 0 without a deadlock and 3 with one.`,
		Example: `  holdfast deadlocks
  holdfast deadlocks 'orders.>'`,
		Args:              cobra.ArbitraryArgs,
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE:              d.run,
	}
	cli.AddJSON(cmd, &d.json, "print each cycle as one line of JSON")
	d.connection.AddTo(cmd)
	d.connection.AddTenants(cmd)
	return cmd
}

func (d *deadlocks) run(cmd *cobra.Command, args []string) (err error) {
	if d.pattern, err = cli.OnePattern(cmd, args); err != nil {
		return err
	}
	if err := d.connection.Load(cmd.Flags()); err != nil {
		return err
	}
	return withAsker(cmd, &d.connection, "deadlocks", func(a *asker) error {
		d.asker = a
		found, err := d.find(cmd.Context(), cmd.OutOrStdout())
		if err != nil {
			return err
		}
		return d.report(cmd.OutOrStdout(), found)
	})
}

// find returns the cycles that existed at one moment.
func (d *deadlocks) find(ctx context.Context, w io.Writer) ([]deadlock.Cycle, error) {
	var listed deadlock.Listing
	for page, err := range d.pages(ctx, w, true) {
		if err != nil {
			return nil, err
		}
		listed.Add(page)
	}
	return deadlock.Find(listed.Contended, func(tenant, name string) (*messages.Reply, error) {
		return d.get(ctx, w, cli.Resource{Name: name, Tenant: tenant})
	})
}

func (d *deadlocks) get(ctx context.Context, w io.Writer, r cli.Resource) (*messages.Reply, error) {
	key, err := messages.EncodeKey(r.Name)
	if err != nil {
		return nil, exit.Errorf(exit.Unexpected, "the node has listed a resource that cannot be one: %w", err)
	}
	subject := d.connection.SubjectsOf(r.Tenant).Operation(messages.OpGet, key)
	reply, err := d.asker.reply(ctx, question{op: messages.OpGet, subject: subject,
		message: func(time.Duration) proto.Message {
			return &messages.GetRequest{Waiters: true}
		}})
	if err != nil || !isRefusal(reply.GetStatus()) {
		return reply, err
	}
	a := answer{op: messages.OpGet, Reply: reply}
	return nil, a.print(w, d.json)
}

// report prints the cycles. The error has the exit code if there are some.
func (d *deadlocks) report(w io.Writer, found []deadlock.Cycle) error {
	if len(found) == 0 {
		if d.json {
			return nil
		}
		among := ""
		if d.pattern.Text != "" || d.connection.OfTenant() != "" {
			among = " among the locks" + d.connection.OfTenant() + d.pattern.That()
		}
		_, err := fmt.Fprintf(w, "no deadlocks%s\n", among)
		return err
	}
	var b strings.Builder
	for _, c := range found {
		text, err := textOf(c), error(nil)
		if d.json {
			text, err = jsonOf(c)
		}
		if err != nil {
			return fmt.Errorf("write a deadlock as JSON: %w", err)
		}
		b.WriteString(text)
	}
	if _, err := io.WriteString(w, b.String()); err != nil {
		return err
	}
	return &exit.Error{Code: exit.Held}
}

// textOf returns the cycle for a person.
func textOf(c deadlock.Cycle) string {
	var b strings.Builder
	tenant := c[0].Tenant
	b.WriteString("deadlock" + cli.OfTenant(tenant) + ":\n")
	for _, l := range c {
		holder := display.Quote(l.Lease.GetOwner()) + " holds"
		if l.Lease.GetOwner() == l.Waiter.GetOwner() {
			holder = "it holds itself"
		}
		fmt.Fprintf(&b, "  %s waits for %s, which %s: %s; %s, for %s, %s left\n", display.Quote(l.Waiter.GetOwner()),
			display.Name(l.Resource), holder,
			share(l.Lease), cli.KindOfWaiter(l.Waiter), display.Duration(cli.Millis(l.Waiter.GetWaitingMs())),
			display.Duration(cli.Millis(l.Waiter.GetLeftMs())))
	}
	fmt.Fprintf(&b, "  to end it, break one of these leases, as in: holdfast break %s --token %d%s\n",
		display.Name(c[0].Resource), c[0].Lease.GetToken(), cli.TenantFlag(tenant))
	return b.String()
}

// jsonOf returns the cycle for a program, with the waiting requests and the leases as in the contract.
func jsonOf(c deadlock.Cycle) (string, error) {
	type wait struct {
		Tenant   string          `json:"tenant,omitempty"`
		Resource string          `json:"resource"`
		Waiter   json.RawMessage `json:"waiter"`
		Lease    json.RawMessage `json:"lease"`
	}
	var waits []wait
	for _, l := range c {
		waiter, err := messages.Encode(messages.JSON, l.Waiter)
		if err != nil {
			return "", err
		}
		lease, err := messages.Encode(messages.JSON, l.Lease)
		if err != nil {
			return "", err
		}
		waits = append(waits, wait{l.Tenant, l.Resource, waiter, lease})
	}
	line, err := json.Marshal(map[string][]wait{"deadlock": waits})
	return display.JSON(line) + "\n", err
}
