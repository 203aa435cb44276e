package holdfast

import (
	"fmt"
	"time"

	"github.com/holdfast-io/holdfast/messages"
)

// Loss is a lease that was lost, and that holds its resource back: the resource is granted to no other owner until the
// delay of the lease is over or the loss is confirmed. In answers it may also be one whose shortest hold is not over,
// however it ended.
type Loss struct {
	// Lease is the lease as it ended; nothing remains of it.
	Lease
	// Left is what was left of the delay, or of the shortest hold, at the time of the answer. In a listing it is that of this lease; otherwise
	// that of all lost leases of the resource. 0: the loss has to be confirmed, see [Client.Confirm].
	Left time.Duration
}

// until says how long the resource is held back.
func (l *Loss) until() string {
	if l.Left == 0 {
		return "until the loss is confirmed"
	}
	return fmt.Sprintf("for %v", l.Left)
}

func newLoss(r *messages.Reply) *Loss {
	return &Loss{Lease: *newLease(r.GetLease()), Left: millis(r.GetLeftMs())}
}

// listedLoss returns a loss as a listing has it, with what is left of the delay in the place of what remains.
func listedLoss(l *messages.Lease) *Loss {
	loss := &Loss{Lease: *newLease(l)}
	loss.Left, loss.Remaining = loss.Remaining, 0
	return loss
}
