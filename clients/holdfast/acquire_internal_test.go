package holdfast

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/holdfast-io/holdfast/messages"
)

// The service may say that the wait is over a moment before the deadline for which it was asked.
func TestTimeoutJustBeforeTheDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 500*time.Microsecond)
		defer cancel()
		a := &acquisition{c: &Client{life: t.Context()}, resource: "r"}
		a.deadline, _ = ctx.Deadline()
		timeout := encode(&messages.Reply{Status: messages.Status_TIMEOUT})
		l, again, err := a.answered(ctx, answer{try: &try{}, msg: &nats.Msg{Data: timeout}})
		if l != nil || again || !errors.Is(err, ErrTimeout) || !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v, %v, %v, want ErrTimeout and DeadlineExceeded", l, again, err)
		}
	})
}
