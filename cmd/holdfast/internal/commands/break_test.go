package commands_test

import (
	"testing"

	"github.com/holdfast-io/holdfast/messages"
)

func TestBreakSaysWhichLeaseAndWhy(t *testing.T) {
	t.Parallel()
	f := withNode(t, func(int) *messages.Reply { return &messages.Reply{Status: messages.Status_RELEASED} })
	f.run(t.Context(), "break", "orders.42", "--token", "000000000000012", "--reason", "it hangs").want(t, 0,
		"broke the lock on orders.42\n")
	var r messages.BreakRequest
	if m := f.request(t, 1, &r); m.Subject != "holdfast.break.orders.42" || r.GetToken() != 12 ||
		r.GetReason() != "it hangs" {
		t.Errorf("%s %v", m.Subject, &r)
	}
}
