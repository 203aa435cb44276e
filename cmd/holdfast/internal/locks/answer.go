package locks

import (
	"cmp"
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
	op                      messages.Operation
	resource, tenant, owner string
	wait                    time.Duration
	flags                   *pflag.FlagSet // those of the command; nil: refusals are shown unchanged
}

// print writes the answer and returns its exit code as an error, nil for success.
func (a *answer) print(w io.Writer, asJSON bool) error {
	code := ExitCode(a.op, a.GetStatus())
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

// sentence returns the answer for a person, in one line but for what get shows of shared leases and of a queue.
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
		return cmp.Or(ended[a.op], "released ") + resource
	case messages.Status_HELD:
		if a.op == messages.OpGet {
			return a.held(resource)
		}
		return fmt.Sprintf("held: %s by %s%s", resource, a.holder(), a.details())
	case messages.Status_HELD_BACK:
		return a.heldBack(resource)
	case messages.Status_TIMEOUT:
		line := fmt.Sprintf("timed out: %s was not free within %s", resource, display.Duration(a.wait))
		if a.GetLease() != nil {
			line += "; it is held by " + a.holder()
		}
		return line
	case messages.Status_CANCELLED:
		return fmt.Sprintf("cancelled: no longer waiting for %s", resource)
	case messages.Status_EXPIRED:
		return fmt.Sprintf("expired: the lease of %s on %s had expired; it has not been granted again", owner, resource)
	case messages.Status_NOT_HELD:
		return a.notHeld(resource)
	case messages.Status_UPDATED:
		return fmt.Sprintf("updated %s: %s", resource, a.lease())
	case messages.Status_NOT_OWNER:
		if a.GetLease() == nil {
			return fmt.Sprintf("not owner: this request for %s has a secret; use another --request-id", resource)
		}
		return fmt.Sprintf("not owner: %s is held by %s", resource, a.holder())
	case messages.Status_STALE_TOKEN:
		if a.op == messages.OpConfirm {
			return fmt.Sprintf("stale token: no lost lease of %s has this token; see: holdfast get %s%s", resource,
				resource,
				cli.TenantFlag(a.tenant))
		}
		return fmt.Sprintf("stale token: %s is held by %s", resource, a.holder())
	case messages.Status_FREE:
		return fmt.Sprintf("free: %s, %s", resource, a.lastToken())
	}
	return fmt.Sprintf("%s: %s; this version of holdfast does not know this status", a.status(), resource)
}

// ended says what an operation did whose answer is RELEASED, other than a release.
var ended = map[messages.Operation]string{
	messages.OpBreak: "broke the lock on ", messages.OpConfirm: "confirmed the end of the lease on ",
}

func (a *answer) notHeld(resource string) string {
	switch a.op {
	case messages.OpBreak:
		return "not held: nobody holds " + resource
	case messages.OpConfirm:
		return fmt.Sprintf("not held: %s is free, and not held back", resource)
	case messages.OpRelease:
		return fmt.Sprintf("not held: nobody holds %s, and %s was not its last holder", resource, display.Quote(a.owner))
	}
	return fmt.Sprintf("not held: nobody holds %s; %s has released it, or never held it", resource, display.Quote(a.owner))
}

// heldBack returns the ended lease for which the resource is held back, and below it the leases that are still held and
// the waiting requests. Only a loss has to be confirmed; what else has an end may also be a shortest hold.
func (a *answer) heldBack(resource string) string {
	ended := fmt.Sprintf("%s, %s", display.Quote(a.GetLease().GetOwner()), share(a.GetLease()))
	line := fmt.Sprintf("held back: %s until the loss of %s, is confirmed%s", resource, ended, a.details())
	if left := a.GetLeftMs(); left > 0 {
		line = fmt.Sprintf("held back: %s for %s after the lease of %s%s", resource, display.Duration(cli.Millis(left)),
			ended, a.details())
	}
	lines := []string{line}
	for _, l := range a.GetHolders() {
		lines = append(lines, "  held by "+holderOf(l)+detailsOf(l))
	}
	return strings.Join(append(lines, a.queue()...), "\n")
}

func (a *answer) lease() string {
	return fmt.Sprintf("%s, lease %s", share(a.GetLease()), display.Duration(cli.Millis(a.GetLease().GetRemainingMs())))
}

func (a *answer) holder() string {
	text := holderOf(a.GetLease())
	if n := len(a.GetHolders()) - 1; n > 0 {
		text += fmt.Sprintf(", and %d more", n)
	}
	return text
}

func holderOf(l *messages.Lease) string {
	return fmt.Sprintf("%s, %s, %s left", display.Quote(l.GetOwner()), share(l),
		display.Duration(cli.Millis(l.GetRemainingMs())))
}

// held returns the holders and the waiting requests, one line for each. The only holder of an exclusive lease is on
// the first line.
func (a *answer) held(resource string) string {
	lines := []string{fmt.Sprintf("held: %s by %s%s", resource, holderOf(a.GetLease()), a.details())}
	if a.GetLease().GetLimit() > 0 {
		lines = a.sharers(resource)
	}
	return strings.Join(append(lines, a.queue()...), "\n")
}

// queue returns a line for each of the waiting requests that the answer has.
func (a *answer) queue() (lines []string) {
	for _, w := range a.GetWaiters() {
		lines = append(lines, fmt.Sprintf("  waits: %s, %s, for %s, %s left", display.Quote(w.GetOwner()),
			cli.KindOfWaiter(w),
			display.Duration(cli.Millis(w.GetWaitingMs())), display.Duration(cli.Millis(w.GetLeftMs()))))
	}
	if shown := len(a.GetWaiters()); shown > 0 && int(a.GetWaiting()) > shown {
		lines = append(lines, fmt.Sprintf("  ... and %d more wait", int(a.GetWaiting())-shown))
	}
	return lines
}

func (a *answer) sharers(resource string) []string {
	head := fmt.Sprintf("held: %s, %s", resource, display.Count(int(a.GetHeld()), "permit"))
	if n := a.GetWaiting(); n > 0 {
		head += fmt.Sprintf(", %d waiting", n)
	}
	lines := []string{head}
	more := int(a.GetHeld())
	for _, l := range a.GetHolders() {
		lines = append(lines, "  held by "+holderOf(l)+detailsOf(l))
		more -= len(l.GetSlots())
	}
	if more > 0 {
		lines = append(lines, fmt.Sprintf("  ... and the holders of %d more permits; holdfast ls shows them all", more))
	}
	return lines
}

func (a *answer) lastToken() string {
	if token := a.GetLease().GetToken(); token > 0 {
		return fmt.Sprintf("last token %d", token)
	}
	return "no token yet"
}

// details returns the optional parts of an answer about an exclusive lease.
func (a *answer) details() string {
	text := detailsOf(a.GetLease())
	if n := a.GetWaiting(); n > 0 {
		text = fmt.Sprintf(", %d waiting", n) + text
	}
	return text
}

// detailsOf returns the optional parts of a lease.
func detailsOf(l *messages.Lease) string {
	var b strings.Builder
	if l.GetDurability() == messages.Durability_EPHEMERAL {
		b.WriteString(", ephemeral")
	}
	metadata := l.GetMetadata()
	for _, key := range slices.Sorted(maps.Keys(metadata)) {
		b.WriteString(", " + display.Name(key) + "=" + display.Quote(metadata[key]))
	}
	return b.String()
}

// share returns what identifies a lease: its token or its block of them, and of a shared one its fence, its kind and its slots.
func share(l *messages.Lease) string {
	if l.GetLimit() == 0 {
		return cli.NamedTokens(l.GetToken(), l.GetTokens())
	}
	name := "slot"
	if len(l.GetSlots()) > 1 {
		name = "slots"
	}
	return fmt.Sprintf("token %d, fence %s, %s, %s %s", l.GetToken(), display.Name(strings.TrimLeft(l.GetFence(), "0")),
		cli.KindOf(l), name, cli.Slots(l.GetSlots()))
}
