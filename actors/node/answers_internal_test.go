package node

import (
	"testing"
	"time"

	"github.com/holdfast-io/holdfast/actors"
	"github.com/holdfast-io/holdfast/actors/lease"
	"github.com/holdfast-io/holdfast/messages"
)

// timed counts the answers that an observer receives.
type timed struct {
	Observer
	answered, waited int
}

func (x *timed) Answered(messages.Operation, time.Duration) { x.answered++ }

func (x *timed) Waited(time.Duration) { x.waited++ }

// The observer receives the answers to requests of clients; of those to requests that waited in a queue it receives the
// grants, apart from the others.
func TestWaitsAreObservedApart(t *testing.T) {
	client := messages.Origin{Operation: messages.OpAcquire, Received: 1}
	inner, own := client, client
	inner.Inner, own.Received = true, 0
	for name, test := range map[string]struct {
		of               messages.Origin
		status           messages.Status
		isWaiter         bool
		answered, waited int
	}{
		"AtOnce":    {client, messages.Status_GRANTED, false, 1, 0},
		"Refused":   {client, messages.Status_HELD, false, 1, 0},
		"Waited":    {client, messages.Status_GRANTED, true, 0, 1},
		"TimedOut":  {client, messages.Status_TIMEOUT, true, 0, 0},
		"Inner":     {inner, messages.Status_GRANTED, false, 0, 0},
		"OfTheNode": {own, messages.Status_GRANTED, false, 0, 0},
	} {
		t.Run(name, func(t *testing.T) {
			x := new(timed)
			a := newAnswers(actors.SystemClock(), x)
			a.add(lease.Answer{
				To: messages.ReplyTo{Origin: test.of}, Reply: &messages.Reply{Status: test.status},
				Waited: test.isWaiter,
			})
			if x.answered != test.answered || x.waited != test.waited {
				t.Errorf("%d answered and %d waited, want %d and %d", x.answered, x.waited, test.answered, test.waited)
			}
		})
	}
}
