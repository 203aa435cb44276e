//go:build unix

package lock

import (
	"fmt"
	"io"
	"time"

	"github.com/holdfast-io/holdfast/clients/holdfast"
	"github.com/holdfast-io/holdfast/cmd/holdfast/internal/cli"
	"github.com/holdfast-io/holdfast/cmd/holdfast/internal/display"
)

// reporter writes messages about the locks.
type reporter struct {
	*display.Reporter
	// chatty: what the command waits for is reported.
	chatty bool
}

func newReporter(w io.Writer, verbose bool) *reporter {
	return &reporter{display.NewReporter(w, verbose), verbose || display.Columns(w) > 0}
}

// waiting reports what the lock command waits for: the holder, or the end of a hold after the last lease. On a terminal it
// does so without --verbose.
func (r *reporter) waiting(resource string, refusal *holdfast.Error) {
	if !r.chatty {
		return
	}
	switch {
	case refusal.Lost != nil:
		r.Print("waiting for %s, %s", display.Name(resource), heldBack(refusal.Lost))
	case refusal.Holder != nil:
		r.Print("waiting for %s, held by %s, %s", display.Name(resource), display.Quote(refusal.Holder.Owner),
			cli.NamedTokens(refusal.Holder.Token, refusal.Holder.Tokens))
	default:
		r.Print("waiting for %s", display.Name(resource))
	}
}

// heldBack says for how long a resource is held back, and after which lease: a lost one, or one whose shortest hold is
// not over.
func heldBack(l *holdfast.Loss) string {
	ended := display.Quote(l.Owner) + ", " + cli.NamedTokens(l.Token, l.Tokens)
	if l.Left == 0 {
		return fmt.Sprintf("held back until the loss of %s, is confirmed", ended)
	}
	return fmt.Sprintf("held back for %s after the lease of %s", display.Duration(l.Left), ended)
}

// jeopardy is the client's callback for renewals that begin to fail, or that succeed again (a nil err).
func (r *reporter) jeopardy(l *holdfast.Lock, err error) {
	if err == nil {
		r.Detail("%s is renewed again", display.Name(l.Resource()))
		return
	}
	r.Detail("cannot renew %s: %s; %s left", display.Name(l.Resource()), display.Plain(err),
		display.Duration(max(time.Until(l.Deadline()), 0)))
}
