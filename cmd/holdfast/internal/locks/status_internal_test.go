package locks

import (
	"strings"
	"testing"

	"github.com/holdfast-io/holdfast/cmd/holdfast/internal/exit"
	"github.com/holdfast-io/holdfast/messages"
)

// A status that the contract gains must be given an exit code and a sentence here.
func TestEveryStatusHasItsExitCode(t *testing.T) {
	for number, name := range messages.Status_name {
		s := messages.Status(number)
		if s == messages.Status_STATUS_UNSPECIFIED {
			continue
		}
		if ExitCode(messages.OpAcquire, s) == exit.Unexpected {
			t.Errorf("%s has no exit code", name)
		}
		a := answer{Reply: &messages.Reply{Status: s}, op: messages.OpAcquire, resource: "r"}
		if !isRefusal(s) && strings.Contains(a.sentence(), "does not know") {
			t.Errorf("%s has no sentence", name)
		}
	}
}
