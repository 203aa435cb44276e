package locks

import (
	"github.com/holdfast-io/holdfast/cmd/holdfast/internal/exit"
	"github.com/holdfast-io/holdfast/messages"
)

// ExitCode returns the exit code of an answer.
func ExitCode(op messages.Operation, s messages.Status) int {
	if isOver(op, s) {
		return exit.Lost
	}
	switch s {
	case messages.Status_GRANTED, messages.Status_EXTENDED, messages.Status_RELEASED, messages.Status_FREE,
		messages.Status_UPDATED:
		return exit.Done
	case messages.Status_HELD, messages.Status_HELD_BACK:
		if op == messages.OpGet {
			return exit.Done
		}
		return exit.Held
	case messages.Status_TIMEOUT, messages.Status_CANCELLED:
		return exit.Held
	case messages.Status_EXPIRED, messages.Status_NOT_HELD, messages.Status_NOT_OWNER, messages.Status_STALE_TOKEN:
		return exit.Lost
	case messages.Status_INVALID:
		return exit.Usage
	case messages.Status_OVERLOADED, messages.Status_UNAVAILABLE, messages.Status_EXHAUSTED:
		return exit.Unavailable
	}
	return exit.Unexpected
}

// isOver reports whether the answer to an acquire is that its request had been granted and that its lease has ended.
func isOver(op messages.Operation, s messages.Status) bool {
	return op == messages.OpAcquire && (s == messages.Status_RELEASED || s == messages.Status_EXPIRED)
}

// isRefusal reports whether the node has not carried the request out.
func isRefusal(s messages.Status) bool {
	_, is := s.ServiceCode()
	return is
}
