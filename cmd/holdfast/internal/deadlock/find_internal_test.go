package deadlock

import (
	"testing"

	"github.com/holdfast-io/holdfast/messages"
)

// What came after the moment, or is another lease, does not confirm a cycle.
func TestSecondLook(t *testing.T) {
	c := Contended{Resource: "r", Leases: []*messages.Lease{{Owner: "a", Token: 1}, {Owner: "b", Token: 2}}}
	then := c.at(&messages.Reply{
		Holders: []*messages.Lease{{Owner: "a", Token: 3}, {Owner: "b", Token: 2}},
		Waiters: []*messages.Waiter{{Owner: "c", WaitingMs: 250}, {Owner: "d", WaitingMs: 249}},
	}, 250_900_000)
	if len(then.Leases) != 1 || then.Leases[0].GetOwner() != "b" || len(then.Waiters) != 1 || then.Waiters[0].GetOwner() != "c" {
		t.Errorf("confirmed %v", then)
	}
}
