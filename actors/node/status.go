package node

import (
	"errors"

	"github.com/holdfast-io/holdfast/actors"
	"github.com/holdfast-io/holdfast/messages"
)

// refusalOf returns what an error is answered with.
func refusalOf(err error) *messages.Reply {
	r := messages.Refuse(status(err), err)
	r.Lasting = errors.Is(err, actors.ErrLasting)
	return r
}

func status(err error) messages.Status {
	switch {
	case errors.Is(err, actors.ErrOverloaded),
		errors.Is(err, errRate), errors.Is(err, errPending), errors.Is(err, errBehind):
		return messages.Status_OVERLOADED
	case errors.Is(err, actors.ErrUnavailable):
		return messages.Status_UNAVAILABLE
	default:
		return messages.Status_INVALID
	}
}
