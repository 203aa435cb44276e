package main

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/holdfast-io/holdfast/cmd/holdfast/internal/cli"
	"github.com/holdfast-io/holdfast/cmd/holdfast/internal/display"
	"github.com/holdfast-io/holdfast/cmd/holdfast/internal/exit"
	"github.com/holdfast-io/holdfast/messages"
)

// answer is a node's reply with its request, for a person or a program. Its texts come from other clients, so
// they are printed only quoted or escaped.
type answer struct {
	*messages.Reply
	op              messages.Operation
	resource, owner string
	wait            time.Duration
	flags           *pflag.FlagSet // those of the command; nil: refusals are shown unchanged
}

// print writes the answer and returns its exit code as an error, nil for success.
func (a *answer) print(w io.Writer, asJSON bool) error {
	code := exitOf(a.op, a.GetStatus())
	switch {
	case asJSON:
		line, err := messages.Encode(messages.JSON, a.Reply)
		if err != nil {
			return fmt.Errorf("write the answer as JSON: %w", err)
		}
		return a.finish(w, display.JSON(line), code)
	case isRefusal(a.GetStatus()):
		return exit.Errorf(code, "%s: %s", a.status(), display.OneLine(cli.Refusal(a.GetError(), a.flags)))
	}
	return a.finish(w, a.sentence(), code)
}

func (a *answer) finish(w io.Writer, line string, code int) error {
	if _, err := fmt.Fprintln(w, line); err != nil {
		return fmt.Errorf("cannot print the answer, which was %s: %w", a.GetStatus(), err)
	}
	if code == exit.Done {
		return nil
	}
	return &exit.Error{Code: code}
}

// status is the name of the status in lower case: "stale token".
func (a *answer) status() string {
	return strings.ToLower(strings.ReplaceAll(a.GetStatus().String(), "_", " "))
}

// sentence returns the answer as one line for a person.
func (a *answer) sentence() string {
	resource, owner := display.Name(a.resource), display.Quote(a.owner)
	if isOver(a.op, a.GetStatus()) {
		return fmt.Sprintf("%s: this request acquired %s, token %d, and that lease has ended; use another --request-id",
			a.status(), resource, a.GetLease().GetToken())
	}
	switch a.GetStatus() {
	case messages.Status_GRANTED:
		return fmt.Sprintf("acquired %s: %s", resource, a.lease())
	case messages.Status_EXTENDED:
		return fmt.Sprintf("extended %s: %s", resource, a.lease())
	case messages.Status_RELEASED:
		if a.op == messages.OpBreak {
			return "broke the lock on " + resource
		}
		return "released " + resource
	case messages.Status_HELD:
		return fmt.Sprintf("held: %s by %s%s", resource, a.holder(), a.details())
	case messages.Status_TIMEOUT:
		return fmt.Sprintf("timed out: %s was not free within %s", resource, display.Duration(a.wait))
	case messages.Status_CANCELLED:
		return fmt.Sprintf("cancelled: no longer waiting for %s", resource)
	case messages.Status_EXPIRED:
		return fmt.Sprintf("expired: the lease of %s on %s had expired; %s is still free", owner, resource, resource)
	case messages.Status_NOT_HELD:
		if a.op == messages.OpBreak {
			return fmt.Sprintf("not held: %s is free", resource)
		}
		return fmt.Sprintf("not held: %s is free, and was not held by %s", resource, owner)
	case messages.Status_NOT_OWNER:
		return fmt.Sprintf("not owner: %s is held by %s", resource, a.holder())
	case messages.Status_STALE_TOKEN:
		return fmt.Sprintf("stale token: %s is held by %s", resource, a.holder())
	case messages.Status_FREE:
		return fmt.Sprintf("free: %s, %s", resource, a.lastToken())
	}
	return fmt.Sprintf("%s: %s; this version of holdfast does not know this status", a.status(), resource)
}

func (a *answer) lease() string {
	return fmt.Sprintf("token %d, lease %s", a.GetLease().GetToken(), display.Duration(a.remaining()))
}

func (a *answer) holder() string {
	l := a.GetLease()
	return fmt.Sprintf("%s, token %d, %s left", display.Quote(l.GetOwner()), l.GetToken(), display.Duration(a.remaining()))
}

func (a *answer) remaining() time.Duration { return cli.Millis(a.GetLease().GetRemainingMs()) }

func (a *answer) lastToken() string {
	if token := a.GetLease().GetToken(); token > 0 {
		return fmt.Sprintf("last token %d", token)
	}
	return "no token yet"
}

// details returns the optional parts of a lease.
func (a *answer) details() string {
	var parts []string
	if n := a.GetWaiting(); n > 0 {
		parts = append(parts, fmt.Sprintf("%d waiting", n))
	}
	if a.GetLease().GetDurability() == messages.Durability_EPHEMERAL {
		parts = append(parts, "ephemeral")
	}
	metadata := a.GetLease().GetMetadata()
	for _, key := range slices.Sorted(maps.Keys(metadata)) {
		parts = append(parts, display.Name(key)+"="+display.Quote(metadata[key]))
	}
	if len(parts) == 0 {
		return ""
	}
	return ", " + strings.Join(parts, ", ")
}
