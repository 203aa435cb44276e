package commands

import (
	"fmt"
	"strings"

	"github.com/holdfast-io/holdfast/cmd/holdfast/internal/cli"
	"github.com/holdfast-io/holdfast/cmd/holdfast/internal/display"
	"github.com/holdfast-io/holdfast/messages"
)

// share returns what identifies a lease: its token, and of a shared one its fence, its kind and its slots.
func share(l *messages.Lease) string {
	if l.GetLimit() == 0 {
		return fmt.Sprintf("token %d", l.GetToken())
	}
	name := "slot"
	if len(l.GetSlots()) > 1 {
		name = "slots"
	}
	return fmt.Sprintf("token %d, fence %s, %s, %s %s", l.GetToken(), display.Name(strings.TrimLeft(l.GetFence(), "0")), cli.KindOf(l), name, cli.Slots(l.GetSlots()))
}
