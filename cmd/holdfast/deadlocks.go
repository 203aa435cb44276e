package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"google.golang.org/protobuf/proto"

	"github.com/holdfast-io/holdfast/cmd/holdfast/internal/cli"
	"github.com/holdfast-io/holdfast/cmd/holdfast/internal/display"
	"github.com/holdfast-io/holdfast/cmd/holdfast/internal/exit"
	"github.com/holdfast-io/holdfast/cmd/holdfast/internal/settings"
	"github.com/holdfast-io/holdfast/messages"
)

// deadlocks is the command that finds owners that wait for one another.
type deadlocks struct{ list }

func newDeadlocks() *cobra.Command {
	d := &deadlocks{list{waiters: true}}
	cmd := &cobra.Command{
		Use:   "deadlocks [PATTERN]",
		Short: "Find owners that wait for one another",
		Long: `Finds cycles of owners of which each waits for a lock that the next one holds, so
that none of them can go on until a wait or a lease ends. It changes nothing; break
one of the leases to end a deadlock. An owner counts as one process: programs that
share an owner may seem to wait for themselves.

The cycles are found in a listing, and then confirmed by looking at their locks
again. Only locks that match the pattern are looked at, and of each queue the first
100 requests. The exit code is 0 without a deadlock and 3 with one.`,
		Example: `  holdfast deadlocks
  holdfast deadlocks 'orders.>'`,
		Args:              cobra.ArbitraryArgs,
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE:              d.run,
	}
	cli.AddFlags(cmd, cli.SectionOutput, func(f *pflag.FlagSet) {
		f.BoolVar(&d.json, "json", false, "print each cycle as one line of JSON")
	})
	d.connection.AddTo(cmd)
	return cmd
}

func (d *deadlocks) run(cmd *cobra.Command, args []string) error {
	s, err := settings.Load(cmd.Flags())
	if err != nil {
		return err
	}
	if d.pattern, err = cli.OnePattern(cmd, args); err != nil {
		return err
	}
	if err := d.connection.Check(s); err != nil {
		return err
	}
	nc, err := d.connection.Open(cmd.Context(), "deadlocks", cmd.ErrOrStderr())
	if err != nil {
		return err
	}
	defer nc.Close()
	if d.asker, err = newAsker(&d.connection, nc); err != nil {
		return err
	}
	defer d.asker.close()
	found, err := d.find(cmd.Context(), cmd.OutOrStdout())
	if err != nil {
		return err
	}
	return d.report(cmd.OutOrStdout(), found)
}

// find returns the cycles that existed at one moment. The pages of a listing are of different moments, so a cycle in
// them is only a suspicion.
func (d *deadlocks) find(ctx context.Context, w io.Writer) ([]cycle, error) {
	listed, err := d.all(ctx, w)
	if err != nil {
		return nil, err
	}
	suspects := listed.contended()
	if len(cycles(suspects)) == 0 {
		return nil, nil
	}
	owners := stuck(suspects)
	var confirmed []contended
	moment := time.Now()
	for _, c := range suspects {
		if len(c.blocked(owners)) == 0 {
			continue
		}
		reply, err := d.get(ctx, w, c.resource)
		if err != nil {
			return nil, err
		}
		confirmed = append(confirmed, c.at(reply, time.Since(moment)))
	}
	return cycles(confirmed), nil
}

// contended returns the resources with waiting requests.
func (l *listing) contended() []contended {
	leases := make(map[string][]*messages.Lease)
	for _, lease := range l.leases {
		leases[lease.GetResource()] = append(leases[lease.GetResource()], lease)
	}
	var all []contended
	for _, resource := range slices.Sorted(maps.Keys(l.queues)) {
		all = append(all, contended{resource, leases[resource], l.queues[resource]})
	}
	return all
}

// at returns what certainly existed at a moment after the listing, by an answer that came so long after the moment:
// the leases of both, and the requests that have waited since before the moment.
func (c *contended) at(r *messages.Reply, since time.Duration) contended {
	then := contended{resource: c.resource}
	for _, l := range r.GetHolders() {
		if slices.ContainsFunc(c.leases, func(before *messages.Lease) bool { return before.GetToken() == l.GetToken() }) {
			then.leases = append(then.leases, l)
		}
	}
	for _, w := range r.GetWaiters() {
		if int64(w.GetWaitingMs()) >= since.Milliseconds() {
			then.waiters = append(then.waiters, w)
		}
	}
	return then
}

func (d *deadlocks) get(ctx context.Context, w io.Writer, resource string) (*messages.Reply, error) {
	key, err := messages.EncodeKey(resource)
	if err != nil {
		return nil, exit.Errorf(exit.Unexpected, "the node has listed a resource that cannot be one: %w", err)
	}
	reply, err := d.asker.reply(ctx, question{op: messages.OpGet, key: key, needs: []string{messages.FeatureSharing}, message: func(time.Duration) proto.Message {
		return &messages.GetRequest{Waiters: true}
	}})
	if err != nil || !isRefusal(reply.GetStatus()) {
		return reply, err
	}
	a := answer{op: messages.OpGet, Reply: reply}
	return nil, a.print(w, d.json)
}

// report prints the cycles. The error has the exit code if there are some.
func (d *deadlocks) report(w io.Writer, found []cycle) error {
	if len(found) == 0 {
		if d.json {
			return nil
		}
		among := ""
		if d.pattern.Text != "" {
			among = " among the locks" + d.pattern.That()
		}
		_, err := fmt.Fprintf(w, "no deadlocks%s\n", among)
		return err
	}
	var b strings.Builder
	for _, c := range found {
		text, err := c.text(), error(nil)
		if d.json {
			text, err = c.json()
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

// text returns the cycle for a person.
func (c cycle) text() string {
	var b strings.Builder
	b.WriteString("deadlock:\n")
	for _, l := range c {
		holder := display.Quote(l.lease.GetOwner()) + " holds"
		if l.lease.GetOwner() == l.waiter.GetOwner() {
			holder = "it holds itself"
		}
		fmt.Fprintf(&b, "  %s waits for %s, which %s: %s; %s, for %s, %s left\n", display.Quote(l.waiter.GetOwner()), display.Name(l.resource), holder,
			share(l.lease), kindOfWaiter(l.waiter), display.Duration(cli.Millis(l.waiter.GetWaitingMs())), display.Duration(cli.Millis(l.waiter.GetLeftMs())))
	}
	fmt.Fprintf(&b, "  to end it, break one of these leases, as in: holdfast break %s --token %d\n", display.Name(c[0].resource), c[0].lease.GetToken())
	return b.String()
}

// json returns the cycle for a program, with the waiting requests and the leases as in the contract.
func (c cycle) json() (string, error) {
	type wait struct {
		Resource string          `json:"resource"`
		Waiter   json.RawMessage `json:"waiter"`
		Lease    json.RawMessage `json:"lease"`
	}
	var waits []wait
	for _, l := range c {
		waiter, err := messages.Encode(messages.JSON, l.waiter)
		if err != nil {
			return "", err
		}
		lease, err := messages.Encode(messages.JSON, l.lease)
		if err != nil {
			return "", err
		}
		waits = append(waits, wait{l.resource, waiter, lease})
	}
	line, err := json.Marshal(map[string][]wait{"deadlock": waits})
	return display.JSON(line) + "\n", err
}
