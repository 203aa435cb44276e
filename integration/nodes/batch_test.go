package nodes

import (
	"errors"
	"fmt"
	"testing"

	"github.com/nats-io/nats.go"

	"github.com/holdfast-io/holdfast/actors/node"
	"github.com/holdfast-io/holdfast/messages"
)

// Batches to the direct subject of a shard that moves are answered by the old owner or by the new one: each call once.
func TestBatchesWhileTheShardMoves(t *testing.T) {
	for _, e := range []messages.Encoding{messages.Protobuf, messages.JSON} {
		t.Run(e.String(), func(t *testing.T) {
			f := newFleet(t)
			f.start("n1", func(c *node.Config) { c.First = true })
			f.start("n2")
			f.settled()
			s := f.batchSender(3, e)
			f.want(s.nc, messages.Status_GRANTED, 1, "holdfast.acquire."+s.keys[0],
				`{"owner":"holder","ttl_ms":600000}`)
			waits := s.send(600_000)
			s.until(waits)

			old := f.owner(s.keys[0])
			stopped := make(chan struct{})
			go func() {
				defer close(stopped)
				f.stop(old)
			}()
			for running := true; running; {
				select {
				case <-stopped:
					running = false // and once more, to the new owner
				default:
				}
				for range 5 {
					s.send(0)
				}
				s.until(waits)
			}
			if now := f.owner(s.keys[0]); now == old {
				t.Fatal("the shard did not move")
			}

			f.want(s.nc, messages.Status_RELEASED, 0, "holdfast.release."+s.keys[0], `{"owner":"holder"}`)
			s.until(0)
			if r := s.got[waits]; r.GetStatus() != messages.Status_GRANTED || r.GetLease().GetToken() != 2 {
				t.Errorf("the call that waited got %v", r)
			}
			f.want(s.nc, messages.Status_HELD, 2, messages.DefaultPrefix.Direct(s.shard, messages.OpGet, s.keys[0]), ``)
			if m, err := s.sub.NextMsg(0); !errors.Is(err, nats.ErrTimeout) {
				t.Errorf("one more answer: %v, %v", m, err)
			}
			t.Logf("%d calls, %d of them unavailable", len(s.got), s.unavailable)
		})
	}
}

// batchSender sends batches to one shard and collects the answers by the ids of the calls, which are unique.
type batchSender struct {
	*fleet
	nc       *nats.Conn
	sub      *nats.Subscription
	shard    uint32
	encoding messages.Encoding
	keys     []string

	sent        uint64
	got         map[uint64]*messages.Reply
	unavailable int
}

func (f *fleet) batchSender(shard uint32, e messages.Encoding) *batchSender {
	f.Helper()
	s := &batchSender{fleet: f, nc: f.connect(), shard: shard, encoding: e, got: make(map[uint64]*messages.Reply)}
	var err error
	if s.sub, err = s.nc.SubscribeSync(nats.NewInbox()); err != nil {
		f.Fatal(err)
	}
	for i := 0; len(s.keys) < 20; i++ {
		if key := fmt.Sprint("k", i); messages.ShardOf(key, shards) == shard {
			s.keys = append(s.keys, key)
		}
	}
	return s
}

// send sends a batch: an acquire of the first key, which may wait, and gets of all. It returns the id of the acquire.
func (s *batchSender) send(waitMs uint32) (acquire uint64) {
	s.Helper()
	s.sent++
	acquire = s.sent
	b := &messages.Batch{Calls: []*messages.Call{{Id: s.sent, Key: s.keys[0], Operation: &messages.Call_Acquire{
		Acquire: &messages.AcquireRequest{Owner: fmt.Sprint("o", s.sent), TtlMs: 600_000, WaitMs: waitMs},
	}}}}
	for _, key := range s.keys {
		s.sent++
		b.Calls = append(b.Calls, &messages.Call{Id: s.sent, Key: key,
			Operation: &messages.Call_Get{Get: &messages.GetRequest{}}})
	}
	payload, err := messages.Encode(s.encoding, b)
	if err != nil {
		s.Fatal(err)
	}
	if err := s.nc.PublishMsg(&nats.Msg{Subject: messages.DefaultPrefix.Batch(s.shard), Reply: s.sub.Subject,
		Data: payload}); err != nil {
		s.Fatal(err)
	}
	return acquire
}

// until receives answers until there is one to each call but one; 0: but none.
func (s *batchSender) until(but uint64) {
	s.Helper()
	missing := 0
	if but != 0 {
		missing = 1
	}
	for len(s.got)+missing < int(s.sent) {
		m, err := s.sub.NextMsg(patience)
		if err != nil {
			s.Fatalf("%d answers to %d calls: %v", len(s.got), s.sent, err)
		}
		var r messages.BatchReply
		if err := messages.DecodeReply(s.encoding, m.Data, &r); err != nil || len(r.GetAnswers()) == 0 {
			s.Fatalf("no answers: %q %v, %v", m.Data, m.Header, err)
		}
		for _, a := range r.GetAnswers() {
			s.take(a, but)
		}
	}
}

// take notes an answer, which has to be the first to its call.
func (s *batchSender) take(a *messages.Answer, but uint64) {
	s.Helper()
	switch r := a.GetReply(); {
	case a.GetId() == 0 || a.GetId() > s.sent || a.GetId() == but || s.got[a.GetId()] != nil:
		s.Fatalf("call %d of %d got %v, after %v", a.GetId(), s.sent, r, s.got[a.GetId()])
	case r.GetStatus() == messages.Status_UNAVAILABLE: // the contract allows it
		s.unavailable++
	case r.GetStatus() != messages.Status_HELD && r.GetStatus() != messages.Status_FREE &&
		r.GetStatus() != messages.Status_GRANTED:
		s.Fatalf("call %d got %v", a.GetId(), r)
	}
	s.got[a.GetId()] = a.GetReply()
}
