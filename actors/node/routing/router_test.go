package routing_test

import (
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/holdfast-io/holdfast/actors"
	"github.com/holdfast-io/holdfast/actors/node/routing"
	"github.com/holdfast-io/holdfast/messages"
)

// recorder is a transport that notes what goes where.
type recorder struct {
	delivered, forwarded []routing.Envelope
	refused              []error
	// ends is after how many requests of a delivery the shard ends; 0: never.
	ends int
}

func (r *recorder) Deliver(_ *actors.Shard, es []routing.Envelope) []routing.Envelope {
	taken := len(es)
	if r.ends > 0 {
		taken = min(taken, r.ends)
	}
	r.delivered = append(r.delivered, es[:taken]...)
	return es[taken:]
}

func (r *recorder) Forward(_ uint64, e routing.Envelope) { r.forwarded = append(r.forwarded, e) }

func (r *recorder) Refuse(_ routing.Envelope, err error) { r.refused = append(r.refused, err) }

func keys(all []routing.Envelope) []string {
	var keys []string
	for _, e := range all {
		keys = append(keys, e.Key)
	}
	return keys
}

// A shard that returns its waiting requests does not get the first one again while it returns the others.
func TestReturnedRequestsStayInOrder(t *testing.T) {
	c := &recorder{}
	r := routing.NewRouter(messages.Shard{}, 10, actors.SystemClock(), c)
	leaving := &actors.Shard{}
	r.SetOwner(leaving, 0)
	r.Return(routing.Envelope{Key: "w0"})
	r.SetOwner(leaving, 0)
	r.Return(routing.Envelope{Key: "w1"})
	r.SetOwner(nil, 0)
	r.Route(routing.Envelope{Key: "new"})
	r.SetOwner(nil, 7)
	if len(c.delivered) != 0 || !slices.Equal(keys(c.forwarded), []string{"w0", "w1", "new"}) {
		t.Errorf("delivered %v to the shard that is leaving, and forwarded %v", keys(c.delivered), keys(c.forwarded))
	}
}

// Without an owner requests wait, in bounded number and time. Requests that a shard has returned are not bounded.
func TestQueueIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &recorder{}
		r := routing.NewRouter(messages.Shard{Number: 3}, 2, actors.SystemClock(), c)
		for range 3 {
			r.Return(routing.Envelope{})
		}
		r.Route(routing.Envelope{}, routing.Envelope{})
		if len(c.refused) != 0 {
			t.Errorf("refused: %v", c.refused)
		}
		r.Route(routing.Envelope{})
		if len(c.refused) != 1 || !errors.Is(c.refused[0], actors.ErrOverloaded) {
			t.Errorf("refused: %v, want one request because of the bound", c.refused)
		}
		c.refused = nil
		<-time.After(time.Second)
		r.Expire(2 * time.Second)
		if n := r.Waiting(); n != 5 {
			t.Errorf("%d wait, want 5", n)
		}
		<-time.After(time.Second)
		r.Expire(2 * time.Second)
		if n := r.Waiting(); n != 0 || len(c.refused) != 5 {
			t.Errorf("%d wait and %d were refused, want 0 and 5", n, len(c.refused))
		}
		for _, err := range c.refused {
			if !errors.Is(err, actors.ErrUnavailable) {
				t.Errorf("refused with %v", err)
			}
		}
	})
}

// When there has been no owner for longer than a failover takes, requests do not wait for one. The time counts from the
// loss of each owner.
func TestMissingOwnerLasts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &recorder{}
		r := routing.NewRouter(messages.Shard{Number: 3}, 10, actors.SystemClock(), c)
		for range 2 {
			r.SetOwner(nil, 0)
			for range 9 {
				<-time.After(actors.LastingAfter / 10)
				r.SetOwner(nil, 0)
				r.Route(routing.Envelope{})
			}
			if err := r.NoOwner(); r.Waiting() != 9 || errors.Is(err, actors.ErrLasting) {
				t.Errorf("%d wait, want 9; %v", r.Waiting(), err)
			}
			<-time.After(actors.LastingAfter / 10)
			r.Route(routing.Envelope{})
			r.Return(routing.Envelope{})
			if r.Waiting() != 9 || len(c.refused) != 2 || !errors.Is(c.refused[0], actors.ErrLasting) ||
				!errors.Is(c.refused[1], actors.ErrLasting) {
				t.Errorf("%d wait, want 9; refused: %v", r.Waiting(), c.refused)
			}
			c.refused = nil
			r.SetOwner(nil, 7)
		}
	})
}

// An extend, a set and a keep do not wait for an owner, so that they arrive in no other order than they were sent.
func TestSomeRequestsDoNotWait(t *testing.T) {
	for _, op := range messages.Operations {
		c := &recorder{}
		r := routing.NewRouter(messages.Shard{Number: 3}, 10, actors.SystemClock(), c)
		r.Return(routing.Envelope{Operation: op})
		r.Route(routing.Envelope{Operation: op})
		r.SetOwner(nil, 7)
		r.Route(routing.Envelope{Operation: op, Hops: 9})
		refused := 0
		if op == messages.OpExtend || op == messages.OpSet || op == messages.OpKeep {
			refused = 3
		}
		if len(c.refused) != refused || r.Waiting()+len(c.forwarded) != 3-refused {
			t.Errorf("%s: refused %v, %d wait, %d forwarded", op, c.refused, r.Waiting(), len(c.forwarded))
		}
		for _, err := range c.refused {
			if !errors.Is(err, actors.ErrUnavailable) {
				t.Errorf("%s: refused with %v", op, err)
			}
		}
	}
}

// The answer to a refused request says why there is no owner. The reason ends with the next owner.
func TestRefusalNamesTheReason(t *testing.T) {
	c := &recorder{}
	r := routing.NewRouter(messages.Shard{Number: 3}, 10, actors.SystemClock(), c)
	const unknown = "unavailable: shard 3 has no owner just now; nothing happened, try again"
	for _, test := range []struct {
		change func()
		want   string
	}{
		{func() {}, unknown},
		{func() { r.SetReason("cannot be opened: it is corrupt") },
			"unavailable: shard 3 cannot be opened: it is corrupt; nothing happened, try again"},
		{func() { r.SetOwner(nil, 0) },
			"unavailable: shard 3 cannot be opened: it is corrupt; nothing happened, try again"},
		{func() { r.SetOwner(nil, 7); r.SetOwner(nil, 0) }, unknown},
	} {
		test.change()
		r.Route(routing.Envelope{})
		r.Expire(0)
		if got := c.refused[len(c.refused)-1]; !errors.Is(got, actors.ErrUnavailable) || got.Error() != test.want {
			t.Errorf("got %q, want %q", got, test.want)
		}
	}
}

// Of requests that came together, those that the shard does not take because it ends wait for its next owner, in their
// order.
func TestShardEndsAmidRequests(t *testing.T) {
	c := &recorder{ends: 1}
	r := routing.NewRouter(messages.Shard{}, 10, actors.SystemClock(), c)
	r.SetOwner(&actors.Shard{}, 0)
	r.Route(routing.Envelope{Key: "a"}, routing.Envelope{Key: "b"}, routing.Envelope{Key: "c"},
		routing.Envelope{Key: "d"})
	r.SetOwner(nil, 7)
	if got, want := append(keys(c.delivered), keys(c.forwarded)...),
		[]string{"a", "b", "c", "d"}; !slices.Equal(got, want) {
		t.Errorf("%v arrive, want %v", got, want)
	}
}

// A request that was forwarded too often waits until the shard is open here.
func TestForwardingIsBounded(t *testing.T) {
	c := &recorder{}
	r := routing.NewRouter(messages.Shard{}, 10, actors.SystemClock(), c)
	r.SetOwner(nil, 7)
	for hops := range 6 {
		r.Route(routing.Envelope{Hops: hops})
	}
	if len(c.forwarded) != 4 || r.Waiting() != 2 {
		t.Errorf("%d are forwarded and %d wait, want 4 and 2", len(c.forwarded), r.Waiting())
	}
	r.SetOwner(&actors.Shard{}, 0)
	if len(c.delivered) != 2 || r.Waiting() != 0 {
		t.Errorf("%d are delivered and %d wait, want 2 and 0", len(c.delivered), r.Waiting())
	}
}

// The time for which a request has waited for an owner is taken off its wait, but for the last millisecond.
func TestWaitIsReduced(t *testing.T) {
	for queued, want := range map[time.Duration]uint32{0: 1000, 400 * time.Millisecond: 600, 3 * time.Second: 1} {
		synctest.Test(t, func(t *testing.T) {
			c := &recorder{}
			r := routing.NewRouter(messages.Shard{}, 10, actors.SystemClock(), c)
			data, err := messages.Encode(messages.JSON, &messages.AcquireRequest{Owner: "a", TtlMs: 1, WaitMs: 1000})
			if err != nil {
				t.Fatal(err)
			}
			e := routing.Envelope{Operation: messages.OpAcquire, Data: data,
				ReplyTo: messages.ReplyTo{Encoding: messages.JSON}}
			r.Route(e)
			<-time.After(queued)
			r.SetOwner(nil, 7)
			var got messages.AcquireRequest
			if err := messages.Decode(messages.JSON, c.forwarded[0].Data, &got); err != nil || got.GetWaitMs() != want {
				t.Errorf("after %v: wait_ms %d, %v, want %d", queued, got.GetWaitMs(), err, want)
			}
		})
	}
}

// What waits for a shard goes on in the next generation, in its order and within the time that it may wait, as does what
// comes later; but not what is for the session in one shard.
func TestNextGeneration(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &recorder{}
		r := routing.NewRouter(messages.Shard{}, 10, actors.SystemClock(), c)
		var next routing.Table
		for number := range uint32(3) {
			next = append(next, routing.NewRouter(messages.Shard{Generation: 2, Number: number}, 1, actors.SystemClock(), c))
		}
		<-time.After(time.Second)
		r.Route(routing.Envelope{Key: "a"}, routing.Envelope{Key: "a", Operation: messages.OpEnd}, routing.Envelope{Key: "b"})
		<-time.After(3 * time.Second)
		r.Move(next)
		if len(c.refused) != 1 || !errors.Is(c.refused[0], actors.ErrUnavailable) || r.Waiting() != 0 {
			t.Errorf("refused %v, and %d wait at the former router", c.refused, r.Waiting())
		}
		c.refused = nil
		r.Return(routing.Envelope{Key: "c"})
		r.Route(routing.Envelope{Key: "d"})
		for _, r := range next {
			r.Expire(3 * time.Second)
		}
		if len(c.refused) != 2 {
			t.Errorf("%d were refused that have waited for as long as they may", len(c.refused))
		}
		r.Route(routing.Envelope{Key: "e"})
		next[next.ShardOf("e")].SetOwner(nil, 7)
		last := c.forwarded[len(c.forwarded)-1]
		if last.Key != "e" || last.Generation != 2 || last.Shard != next.ShardOf("e") {
			t.Errorf("forwarded %+v", last)
		}
	})
}
