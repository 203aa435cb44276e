package node

import (
	"slices"
	"testing"

	"github.com/holdfast-io/holdfast/actors"
	"github.com/holdfast-io/holdfast/actors/lease"
)

// counter is a carrier that notes what goes where.
type counter struct{ told, sent []string }

func (c *counter) tell(_ *actors.Shard, l letter) error { c.told = append(c.told, l.key); return nil }
func (c *counter) forward(_ uint64, l letter) error     { c.sent = append(c.sent, l.key); return nil }
func (c *counter) refuse(letter, error)                 {}
func (c *counter) now() lease.Instant                   { return 0 }

// A shard that gives back who waited does not get the first of them again while it gives back the rest.
func TestPassedGoOnInOrder(t *testing.T) {
	c := &counter{}
	p := &post{carrier: c, room: 10}
	leaving := &actors.Shard{}
	p.lead(leaving, 0)
	p.pass(letter{key: "w0"})
	p.lead(leaving, 0)
	p.pass(letter{key: "w1"})
	p.lead(nil, 0)
	p.lead(nil, 7)
	if len(c.told) != 0 || !slices.Equal(c.sent, []string{"w0", "w1"}) {
		t.Errorf("told %v to the shard that is leaving, and sent on %v", c.told, c.sent)
	}
}
