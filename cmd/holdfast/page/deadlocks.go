package page

import (
	"context"
	"net/url"
	"time"

	"github.com/holdfast-io/holdfast/cmd/holdfast/internal/cli"
	"github.com/holdfast-io/holdfast/cmd/holdfast/internal/deadlock"
	"github.com/holdfast-io/holdfast/messages"
)

// deadlocks is the view of owners that wait for one another.
type deadlocks struct {
	selection
	Cycles []cycle
	// Note says what was not looked at; may be empty.
	Note string
}

// cycle is owners of which each waits for a lock that the next one holds.
type cycle struct {
	// Number counts the cycles of the view from 1.
	Number int
	Tenant string
	Waits  []wait
}

// wait is one owner of a cycle.
type wait struct {
	Owner, Resource, Tenant string
	Holder                  lease
	Waiting, Left           time.Duration
}

func openDeadlocks(_ *Page, query url.Values) (view, error) {
	selected, err := openSelection(query)
	return &deadlocks{selection: selected}, err
}

func (v *deadlocks) load(ctx context.Context, d *deployment) error {
	v.Cycles, v.Note = nil, ""
	if err := v.choose(ctx, d); err != nil {
		return err
	}
	var listed deadlock.Listing
	more, err := d.scan(ctx, &messages.ListRequest{Pattern: v.key, Tenant: v.Tenant, Waiters: true},
		func(page *messages.ListReply) bool {
			listed.Add(page)
			return true
		})
	if err != nil {
		return err
	}
	if more {
		v.Note = "Only the first " + scanned + " leases of the selection were looked at; holdfast deadlocks looks at all."
	}
	found, err := deadlock.Find(listed.Contended, func(tenant, name string) (*messages.Reply, error) {
		key, err := messages.EncodeKey(name)
		if err != nil {
			return nil, err
		}
		prefix := d.prefix
		if tenant != "" {
			prefix = prefix.Tenant(tenant)
		}
		reply := &messages.Reply{}
		return reply, d.caller.Ask(ctx, answerTimeout, prefix.Operation(messages.OpGet, key),
			&messages.GetRequest{Waiters: true, Stale: true}, reply)
	})
	if err != nil {
		return err
	}
	for i, c := range found[:min(len(found), maxCycles)] {
		v.Cycles = append(v.Cycles, cycleOf(i+1, c))
	}
	return nil
}

// maxCycles is how many deadlocks the view shows.
const maxCycles = 20

func cycleOf(number int, c deadlock.Cycle) cycle {
	v := cycle{Number: number, Tenant: c[0].Tenant}
	for _, l := range c {
		v.Waits = append(v.Waits, wait{
			Owner: l.Waiter.GetOwner(), Resource: l.Resource, Tenant: l.Tenant, Holder: newLease(l.Lease, false),
			Waiting: cli.Millis(l.Waiter.GetWaitingMs()), Left: cli.Millis(l.Waiter.GetLeftMs()),
		})
	}
	return v
}

// Summary says what is shown, in a sentence.
func (v *deadlocks) Summary() string {
	return plural(len(v.Cycles), "deadlock is found.", "deadlocks are found.")
}
