package soak

import (
	"strings"
	"testing"

	"github.com/holdfast-io/holdfast/messages"
)

func lease(token uint64, fence string, limit uint32, slots ...uint32) *messages.Lease {
	return &messages.Lease{Token: token, Fence: fence, Limit: limit, Slots: slots}
}

func TestHoldersAreJudged(t *testing.T) {
	for _, test := range []struct {
		name   string
		held   uint32
		all    []*messages.Lease
		wanted string
	}{
		{"one", 1, []*messages.Lease{lease(3, "3", 0)}, ""},
		{"several", 3, []*messages.Lease{lease(3, "3", 9, 0), lease(4, "3", 3, 1, 2)}, ""},
		{"none", 0, []*messages.Lease{}, "not that of the first"},
		{"a permit twice", 3, []*messages.Lease{lease(3, "3", 9, 0), lease(4, "3", 3, 0, 2)}, "two have permit 0"},
		{"a writer beside a reader", 2, []*messages.Lease{lease(3, "3", 9, 1), lease(4, "3", 0)},
			"2 permits are held, where token 4 allows 1"},
		{"two phases", 2, []*messages.Lease{lease(3, "3", 9, 0), lease(4, "4", 9, 1)}, "two phases"},
		{"the latest first", 2, []*messages.Lease{lease(4, "3", 9, 0), lease(3, "3", 9, 1)}, "order of their tokens"},
		{"a permit that has no holder", 3, []*messages.Lease{lease(3, "3", 9, 0), lease(4, "3", 9, 1)},
			"3 permits are held, and 2 are shown"},
	} {
		t.Run(test.name, func(t *testing.T) {
			r := &messages.Reply{Status: messages.Status_HELD, Held: test.held, Holders: test.all}
			if len(test.all) > 0 {
				r.Lease = test.all[0]
			}
			if got := wrongHolders(r); (got == "") != (test.wanted == "") || !strings.Contains(got, test.wanted) {
				t.Errorf("got %q, want %q", got, test.wanted)
			}
		})
	}
}
