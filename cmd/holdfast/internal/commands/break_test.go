package commands_test

import (
	"testing"

	"github.com/holdfast-io/holdfast/messages"
)

// The reason of a break has the name of the operator before it.
func TestBreakSaysWhichLeaseAndWhy(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		flags []string
		want  string
	}{
		{nil, ""},
		{[]string{"--reason", "it hangs"}, "it hangs"},
		{[]string{"--by", "anna"}, "anna"},
		{[]string{"--by", "anna", "--reason", "it hangs"}, "anna: it hangs"},
	} {
		f := withNode(t, func(int) *messages.Reply { return &messages.Reply{Status: messages.Status_RELEASED} })
		f.run(t.Context(), append([]string{"break", "orders.42", "--token", "000000000000012"}, test.flags...)...).want(t, 0,
			"broke the lock on orders.42\n")
		var r messages.BreakRequest
		if m := f.request(t, 1, &r); m.Subject != "holdfast.break.orders.42" || r.GetToken() != 12 ||
			r.GetReason() != test.want {
			t.Errorf("%v: %s %v", test.flags, m.Subject, &r)
		}
	}
}
