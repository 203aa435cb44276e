package changes

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/holdfast-io/holdfast/clients/holdfast"
	"github.com/holdfast-io/holdfast/cmd/holdfast/internal/cli"
	"github.com/holdfast-io/holdfast/cmd/holdfast/internal/display"
	"github.com/holdfast-io/holdfast/messages"
)

// eventWriter writes events, one on each line.
type eventWriter struct {
	// out receives the events, and errs the notes that are not JSON.
	out, errs io.Writer
	json      bool
	// left is the remaining number of changes to write; 0: unlimited.
	left int
	// begun: an event has been written.
	begun bool
}

// show writes events until left reaches 0, the watch ends or ctx ends, none of which is an error.
func (s *eventWriter) show(ctx context.Context, c *holdfast.Client, pattern string,
	options ...holdfast.WatchOption) error {
	for e, err := range c.Watch(ctx, pattern, options...) {
		switch {
		case ctx.Err() != nil:
			return nil
		case err != nil:
			return err
		}
		if err := s.write(e); err != nil {
			return err
		}
		if e.Kind <= holdfast.EventConfirmed && s.left > 0 {
			if s.left--; s.left == 0 {
				return nil
			}
		}
	}
	return nil
}

// goOn writes a note about a gap at the beginning, and then the events after it.
func (s *eventWriter) goOn(ctx context.Context, c *holdfast.Client, pattern string, gap *holdfast.CompactedError,
	options ...holdfast.WatchOption) error {
	notes := s.out
	if s.json {
		notes = s.errs
	}
	if _, err := fmt.Fprintf(notes, "history begins at %s\n", stamp(gap.Begins)); err != nil {
		return err
	}
	return s.show(ctx, c, pattern, append(options, holdfast.From(gap.Oldest))...)
}

func (s *eventWriter) write(e holdfast.Event) error {
	line, err := s.line(e)
	if line == "" || err != nil {
		return err
	}
	s.begun = true
	_, err = fmt.Fprintln(s.out, line)
	return err
}

func (s *eventWriter) line(e holdfast.Event) (string, error) {
	if s.json {
		return eventJSON(e)
	}
	return eventText(e), nil
}

// stamp formats a time.
func stamp(t time.Time) string { return t.Format("2006-01-02T15:04:05.000Z07:00") }

// eventText returns an event as one line for a person, and "" for a bookmark.
func eventText(e holdfast.Event) string {
	what := fmt.Sprintf("%-8s %s%s by %s, %s", strings.ToLower(e.Kind.String()),
		display.Name(e.Lease.Resource), cli.OfTenant(e.Lease.Tenant), display.Quote(e.Lease.Owner),
		cli.NamedTokens(e.Lease.Token, e.Lease.Tokens))
	switch {
	case e.Kind == holdfast.EventBookmark:
		return ""
	case e.Kind == holdfast.EventPresent:
		return fmt.Sprintf("%s %s, since %s", stamp(time.Now()), what, stamp(e.Lease.AcquiredAt))
	case e.Kind.Ends():
		what += ", held " + display.Duration(e.Held())
		if e.HeldBack {
			what += ", held back"
		}
		what += resting(e)
	case e.Kind == holdfast.EventConfirmed:
		what += resting(e)
	default:
		what += ", lease " + display.Duration(e.Lease.TTL)
	}
	if e.Reason != "" {
		what += ", reason " + display.Quote(e.Reason)
	}
	return stamp(e.Time) + " " + what
}

// resting says for how long the resource is granted to nobody after the event; empty: for no time.
func resting(e holdfast.Event) string {
	if e.Resting == 0 {
		return ""
	}
	return ", rests for " + display.Duration(e.Resting)
}

// eventJSON returns an event as one line of JSON in the format of the contract. A change carries the position
// after it; a lease that was held at the beginning is not an event, so its name is "present".
func eventJSON(e holdfast.Event) (string, error) {
	position := fmt.Sprintf(`"position":"%s"`, e.Position())
	switch e.Kind {
	case holdfast.EventBookmark:
		return "{" + position + "}", nil
	case holdfast.EventPresent:
		lease, err := messages.Encode(messages.JSON, leaseOf(e.Lease))
		return `{"present":` + display.JSON(lease) + "}", err
	}
	event, err := messages.Encode(messages.JSON, &messages.Event{
		Kind: messages.Event_Kind(e.Kind), Lease: leaseOf(e.Lease),
		Shard: e.ID.Shard, Position: e.ID.Position, Index: e.ID.Index,
		AtMs: e.Time.UnixMilli(), Reason: e.Reason, HeldBack: e.HeldBack, RestingMs: uint32(e.Resting.Milliseconds()),
	})
	return `{"event":` + display.JSON(event) + "," + position + "}", err
}

// leaseOf returns the lease as a message of the contract.
func leaseOf(l holdfast.Lease) *messages.Lease {
	lease := &messages.Lease{
		Resource: l.Resource, Owner: l.Owner,
		Token: uint64(l.Token), Fence: l.Fence.String(),
		TtlMs: uint32(l.TTL.Milliseconds()), RemainingMs: uint32(l.Remaining.Milliseconds()),
		Metadata: l.Metadata, Tenant: l.Tenant, Tokens: l.Tokens,
	}
	if !l.AcquiredAt.IsZero() {
		lease.AcquiredAtMs = l.AcquiredAt.UnixMilli()
	}
	return lease
}
