package request

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/holdfast-io/holdfast/clients/internal/testserver"
	"github.com/holdfast-io/holdfast/messages"
)

// Batches are tried at once, then after ever longer pauses, and sent only after an answer.
func TestBatchingIsTried(t *testing.T) {
	var b batching
	expect := func(now time.Duration, batches, try bool) {
		t.Helper()
		if gotBatches, gotTry := b.may(now); gotBatches != batches || gotTry != try {
			t.Errorf("after %v: batches %v, try %v, want %v and %v", now, gotBatches, gotTry, batches, try)
		}
	}
	expect(0, false, false) // not offered
	b.offer(true)
	now := time.Duration(0)
	for _, pause := range []time.Duration{1, 2, 4, 8} {
		expect(now, false, true)
		now += pause * time.Second
		expect(now-1, false, false)
	}
	for range 30 {
		expect(now, false, true)
		now += maxTrial
	}
	b.prove()
	expect(now, true, false)
	b.tryAgain(false)
	expect(now, false, true)
	expect(now, false, false)
	b.tryAgain(true) // another connection
	expect(now, false, true)
	b.prove()
	b.offer(false)
	expect(now, false, false)
}

// Requests to one shard go into one batch, in their order, as far as they fit.
func TestBundle(t *testing.T) {
	direct := func(id uint64, shard uint32, payload []byte) *attempt {
		return &attempt{
			id: id, payload: payload, encoding: messages.EncodingOf("", payload),
			to: Route{direct: true, shard: shard, op: messages.OpGet, key: "k"},
		}
	}
	protobuf := Encode(&messages.GetRequest{Stale: true})
	for name, c := range map[string]struct {
		queue []*attempt
		most  int
		want  string
	}{
		"None": {nil, 1000, "[] alone []"},
		"ByShard": {[]*attempt{direct(1, 0, protobuf), direct(2, 1, protobuf), direct(3, 0, protobuf)}, 1000,
			"[[1 3] [2]] alone []"},
		"NotDirect": {[]*attempt{{id: 1, payload: protobuf}, direct(2, 0, protobuf)}, 1000, "[[2]] alone [1]"},
		"JSON":      {[]*attempt{direct(1, 0, []byte("{}")), direct(2, 0, protobuf)}, 1000, "[[2]] alone [1]"},
		"Full": {[]*attempt{direct(1, 0, protobuf), direct(2, 0, protobuf), direct(3, 0, protobuf)}, 30,
			"[[1 2] [3]] alone []"},
		"LargerThanA": {[]*attempt{direct(1, 0, make([]byte, 60)), direct(2, 0, protobuf)}, 50, "[[2]] alone [1]"},
	} {
		t.Run(name, func(t *testing.T) {
			batches, alone := bundle(c.queue, c.most)
			calls := [][]uint64{}
			for _, b := range batches {
				if n := len(b.appendTo(nil)); n > c.most || n != b.size {
					t.Errorf("a batch of %d bytes, more than %d or not the %d expected", n, c.most, b.size)
				}
				calls = append(calls, idsOf(b.calls))
			}
			if got := fmt.Sprint(calls, " alone ", idsOf(alone)); got != c.want {
				t.Errorf("got %s, want %s", got, c.want)
			}
		})
	}
	batches, _ := bundle(slices.Repeat([]*attempt{direct(1, 0, protobuf)}, messages.MaxBatchCalls+1), 1<<20)
	if len(batches) != 2 || len(batches[1].calls) != 1 {
		t.Errorf("%d batches of %d calls", len(batches), messages.MaxBatchCalls+1)
	}
}

func idsOf(queue []*attempt) []uint64 {
	ids := []uint64{}
	for _, a := range queue {
		ids = append(ids, a.id)
	}
	return ids
}

// Each attempt in a batch learns what became of it: from its answer, whichever message has it, from NATS if no node
// listens, and from a refusal of the batch.
func TestAnswersToABatch(t *testing.T) {
	nc, err := nats.Connect(testserver.Build(t).Start(t))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(nc.Close)
	const shard = 0
	for name, c := range map[string]struct {
		// serve answers a batch; nil: no node listens.
		serve func(m *nats.Msg, calls []messages.SplitCall)
		want  func(a *Answer) bool
		// more: batches are still sent.
		more bool
	}{
		"OneByOne": {
			func(m *nats.Msg, calls []messages.SplitCall) {
				slices.Reverse(calls)
				for _, c := range calls {
					answer := &messages.Answer{Id: c.ID,
						Reply: &messages.Reply{Status: messages.Status_FREE, Error: c.Key}}
					_ = m.Respond(Encode(&messages.BatchReply{Answers: []*messages.Answer{answer}}))
				}
			},
			func(a *Answer) bool {
				r, err := a.Reply()
				return err == nil && r.GetStatus() == messages.Status_FREE && r.GetError() == fmt.Sprintf("k%d", a.ID)
			},
			true,
		},
		"NoNode": {nil, (*Answer).NoResponders, true},
		"Refused": {
			func(m *nats.Msg, _ []messages.SplitCall) {
				answer := &messages.Answer{Reply: &messages.Reply{Status: messages.Status_INVALID}}
				_ = m.Respond(Encode(&messages.BatchReply{Answers: []*messages.Answer{answer}}))
			},
			func(a *Answer) bool { return a.NotSent != nil },
			false,
		},
	} {
		t.Run(name, func(t *testing.T) {
			prefix := messages.Prefix(name)
			s, err := NewSender(nc, Config{Prefix: prefix})
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close(t.Context())
			s.SetDeployment(1, []string{messages.FeatureBatch})
			s.batching.prove()
			if c.serve != nil {
				sub, err := nc.Subscribe(prefix.Batch(messages.Shard{Number: shard}), func(m *nats.Msg) {
					calls, err := messages.SplitBatch(messages.Protobuf, m.Data)
					if err != nil {
						t.Error(err)
					}
					c.serve(m, calls)
				})
				if err != nil {
					t.Fatal(err)
				}
				defer func() { _ = sub.Unsubscribe() }()
			}
			answers := make(chan *Answer, 3)
			var queue []*attempt
			for range 3 {
				a := &attempt{
					payload: Encode(&messages.GetRequest{Stale: true}),
					receive: func(a *Answer) { answers <- a },
				}
				s.attempts.add(a)
				a.to = Route{direct: true, shard: shard, op: messages.OpGet, key: fmt.Sprintf("k%d", a.id)}
				queue = append(queue, a)
			}
			s.publishQueue(queue)
			var got []uint64
			for range queue {
				select {
				case a := <-answers:
					if !c.want(a) {
						t.Errorf("got %+v", a)
					}
					got = append(got, a.ID)
				case <-time.After(10 * time.Second):
					t.Fatalf("%d of %d attempts have an answer", len(got), len(queue))
				}
			}
			if slices.Sort(got); !slices.Equal(got, idsOf(queue)) {
				t.Errorf("answers to %v, want one to each of %v", got, idsOf(queue))
			}
			if may, _ := s.batching.may(0); may != c.more {
				t.Errorf("afterwards batches are sent: %v, want %v", may, c.more)
			}
		})
	}
}
