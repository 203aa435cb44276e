package holdfast

import (
	"testing"

	"github.com/holdfast-io/holdfast/messages"
)

// An answer shows the end of a lease only if it has all holders.
func TestAnswerThatShowsTheEnd(t *testing.T) {
	one := []*messages.Lease{{Token: 5}}
	several := []*messages.Lease{{Token: 5, Limit: 9, Slots: []uint32{0, 1}}, {Token: 6, Limit: 9, Slots: []uint32{2}}}
	for name, test := range map[string]struct {
		reply *messages.Reply
		token Token
		want  bool
	}{
		"free":                {&messages.Reply{Status: messages.Status_FREE}, 5, true},
		"no answer":           {nil, 5, false},
		"undecided":           {&messages.Reply{Status: messages.Status_UNAVAILABLE}, 5, false},
		"it":                  {&messages.Reply{Status: messages.Status_HELD, Holders: one, Held: 1}, 5, false},
		"another":             {&messages.Reply{Status: messages.Status_HELD, Holders: one, Held: 1}, 4, true},
		"it, old service":     {&messages.Reply{Status: messages.Status_HELD, Lease: one[0]}, 5, false},
		"other, old service":  {&messages.Reply{Status: messages.Status_HELD, Lease: one[0]}, 4, true},
		"beside others":       {&messages.Reply{Status: messages.Status_HELD, Holders: several, Held: 3}, 6, false},
		"not among others":    {&messages.Reply{Status: messages.Status_HELD, Holders: several, Held: 3}, 7, true},
		"not among the first": {&messages.Reply{Status: messages.Status_HELD, Holders: several, Held: 4}, 7, false},
	} {
		if got := ended(test.reply, test.token); got != test.want {
			t.Errorf("%s: %v, want %v", name, got, test.want)
		}
	}
}
