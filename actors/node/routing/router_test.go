package routing_test

import (
	"slices"
	"testing"

	"github.com/holdfast-io/holdfast/actors"
	"github.com/holdfast-io/holdfast/actors/node/routing"
)

// recorder is a transport that notes what goes where.
type recorder struct{ delivered, forwarded []string }

func (c *recorder) Deliver(_ *actors.Shard, e routing.Envelope) error {
	c.delivered = append(c.delivered, e.Key)
	return nil
}

func (c *recorder) Forward(_ uint64, e routing.Envelope) error {
	c.forwarded = append(c.forwarded, e.Key)
	return nil
}

func (c *recorder) Refuse(routing.Envelope, error) {}

// A shard that returns its waiting requests does not get the first one again while it returns the others.
func TestReturnedRequestsStayInOrder(t *testing.T) {
	c := &recorder{}
	r := routing.NewRouter(0, 10, actors.SystemClock(), c)
	leaving := &actors.Shard{}
	r.SetOwner(leaving, 0)
	r.Return(routing.Envelope{Key: "w0"})
	r.SetOwner(leaving, 0)
	r.Return(routing.Envelope{Key: "w1"})
	r.SetOwner(nil, 0)
	r.SetOwner(nil, 7)
	if len(c.delivered) != 0 || !slices.Equal(c.forwarded, []string{"w0", "w1"}) {
		t.Errorf("delivered %v to the shard that is leaving, and forwarded %v", c.delivered, c.forwarded)
	}
}
