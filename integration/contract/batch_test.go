package contract

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/nats-io/nats.go"
	"google.golang.org/protobuf/encoding/protowire"

	"github.com/holdfast-io/holdfast/actors/node"
	"github.com/holdfast-io/holdfast/integration/stand"
	"github.com/holdfast-io/holdfast/messages"
)

const (
	// batchShard is the shard that the batches go to, one of four.
	batchShard = 3
	hour       = 3_600_000
)

var encodings = []messages.Encoding{messages.Protobuf, messages.JSON}

// keysOf returns keys of batchShard, with a prefix.
func keysOf(prefix string, n int) (keys []string) {
	for i := 0; len(keys) < n; i++ {
		if key := fmt.Sprint(prefix, i); messages.ShardOf(key, 4) == batchShard {
			keys = append(keys, key)
		}
	}
	return keys
}

// bundle is the calls of a batch; their ids are 1, 2 and so on.
type bundle []*messages.Call

func (b *bundle) add(key string) *messages.Call {
	c := &messages.Call{Id: uint64(len(*b) + 1), Key: key}
	*b = append(*b, c)
	return c
}

func (b *bundle) acquire(key string, r *messages.AcquireRequest) {
	b.add(key).Operation = &messages.Call_Acquire{Acquire: r}
}

func (b *bundle) release(key string, r *messages.ReleaseRequest) {
	b.add(key).Operation = &messages.Call_Release{Release: r}
}

func (b *bundle) extend(key string, r *messages.ExtendRequest) {
	b.add(key).Operation = &messages.Call_Extend{Extend: r}
}

func (b *bundle) get(key string) {
	b.add(key).Operation = &messages.Call_Get{Get: &messages.GetRequest{}}
}

func (b *bundle) breakIt(key string, r *messages.BreakRequest) {
	b.add(key).Operation = &messages.Call_Break{Break: r}
}

// inbox is where the answers to batches come.
type inbox struct {
	*client
	sub      *nats.Subscription
	encoding messages.Encoding
}

func (c *client) inbox(e messages.Encoding) *inbox {
	c.Helper()
	sub, err := c.nc.SubscribeSync(nats.NewInbox())
	if err != nil {
		c.Fatal(err)
	}
	return &inbox{c, sub, e}
}

// publish sends a payload as a batch.
func (c *client) publish(reply string, payload []byte) {
	c.Helper()
	m := &nats.Msg{Subject: messages.DefaultPrefix.Batch(messages.Shard{Number: batchShard}), Reply: reply, Data: payload}
	if err := c.nc.PublishMsg(m); err != nil {
		c.Fatal(err)
	}
}

// encode encodes a batch.
func (c *client) encode(e messages.Encoding, b bundle) []byte {
	c.Helper()
	payload, err := messages.Encode(e, &messages.Batch{Calls: b})
	if err != nil {
		c.Fatal(err)
	}
	return payload
}

// send sends a batch.
func (i *inbox) send(b bundle) {
	i.Helper()
	i.publish(i.sub.Subject, i.encode(i.encoding, b))
}

// next returns the answers in the next message.
func (i *inbox) next() []*messages.Answer {
	i.Helper()
	m, err := i.sub.NextMsg(patience)
	if err != nil {
		i.Fatal(err)
	}
	if len(m.Data) > messages.MaxBatchReplyBytes {
		i.Errorf("a message of %d bytes", len(m.Data))
	}
	if e := messages.EncodingOf("", m.Data); e != i.encoding {
		i.Errorf("%q is %v, want %v", excerpt(m.Data), e, i.encoding)
	}
	var r messages.BatchReply
	if err := messages.DecodeReply(i.encoding, m.Data, &r); err != nil {
		i.Fatalf("%q: %v", excerpt(m.Data), err)
	}
	if len(r.GetAnswers()) == 0 {
		i.Error("a message without answers")
	}
	return r.GetAnswers()
}

// all returns the answers to n calls by their id, and checks that no more come.
func (i *inbox) all(n int) map[uint64]*messages.Reply {
	i.Helper()
	got := map[uint64]*messages.Reply{}
	for len(got) < n {
		for _, a := range i.next() {
			if got[a.GetId()] != nil {
				i.Errorf("call %d is answered twice: %v and %v", a.GetId(), got[a.GetId()], a.GetReply())
			}
			got[a.GetId()] = a.GetReply()
		}
	}
	key := keysOf("behind", 1)[0]
	i.wantNothing(i.sub, func() { i.client.ask(messages.DefaultPrefix.Direct(messages.Shard{Number: batchShard}, messages.OpGet, key), ``) })
	return got
}

// ask sends a batch and returns the answers in the order of the calls.
func (i *inbox) ask(b bundle) []*messages.Reply {
	i.Helper()
	i.send(b)
	return i.ordered(len(b))
}

// ordered returns the answers to n calls in the order of the calls.
func (i *inbox) ordered(n int) (replies []*messages.Reply) {
	i.Helper()
	got := i.all(n)
	for id := uint64(1); id <= uint64(n); id++ {
		if got[id] == nil {
			i.Fatalf("call %d has no answer; there are %v", id, got)
		}
		replies = append(replies, got[id])
	}
	return replies
}

// wantStatuses checks answers in the order of their calls.
func (c *client) wantStatuses(got []*messages.Reply, want ...messages.Status) {
	c.Helper()
	if len(got) != len(want) {
		c.Fatalf("%d answers, want %d", len(got), len(want))
	}
	for i, r := range got {
		if r.GetStatus() != want[i] {
			c.Errorf("call %d: got %v, want %s", i+1, r, want[i])
		}
	}
}

func TestBatchOfAllOperations(t *testing.T) {
	t.Parallel()
	_, c := start(t)
	for _, e := range encodings {
		keys := keysOf(e.String(), 5)
		for _, key := range keys[1:] {
			c.want(messages.Status_GRANTED, 1, "holdfast.acquire."+key, `{"owner":"a","ttl_ms":60000}`)
		}
		var b bundle
		b.acquire(keys[0], &messages.AcquireRequest{Owner: "b", TtlMs: hour, Metadata: map[string]string{"k": "v"}})
		b.release(keys[1], &messages.ReleaseRequest{Owner: "a", Token: 1})
		b.extend(keys[2], &messages.ExtendRequest{Owner: "a", TtlMs: hour})
		b.get(keys[3])
		b.breakIt(keys[4], &messages.BreakRequest{Token: 1, Reason: "the test says so"})
		got := c.inbox(e).ask(b)
		c.wantStatuses(got, messages.Status_GRANTED, messages.Status_RELEASED, messages.Status_EXTENDED,
			messages.Status_HELD, messages.Status_RELEASED)
		for _, i := range []int{0, 2, 3} {
			if l := got[i].GetLease(); l.GetResource() != keys[i] || l.GetToken() != 1 {
				t.Errorf("call %d: got %v", i+1, l)
			}
		}
		if l := got[0].GetLease(); l.GetOwner() != "b" || l.GetTtlMs() != hour || l.GetMetadata()["k"] != "v" {
			t.Errorf("got %v", l)
		}
		for i, want := range []messages.Status{messages.Status_HELD, messages.Status_FREE, messages.Status_HELD,
			messages.Status_HELD, messages.Status_FREE} {
			c.want(want, 1, "holdfast.get."+keys[i], ``)
		}
	}
}

// Calls for one key are decided in their order, also beside many others.
func TestBatchKeepsTheOrderOfAKey(t *testing.T) {
	t.Parallel()
	_, c := start(t)
	for _, e := range encodings {
		keys, want := keysOf(e.String(), 20), []messages.Status(nil)
		var b bundle
		for round := range uint64(5) {
			for _, status := range []messages.Status{messages.Status_GRANTED, messages.Status_HELD,
				messages.Status_EXTENDED, messages.Status_RELEASED, messages.Status_FREE} {
				for _, key := range keys {
					want = append(want, status)
					switch status {
					case messages.Status_GRANTED:
						b.acquire(key, &messages.AcquireRequest{Owner: fmt.Sprint("o", round), TtlMs: hour})
					case messages.Status_EXTENDED:
						b.extend(key, &messages.ExtendRequest{Owner: fmt.Sprint("o", round), Token: round + 1,
							TtlMs: hour})
					case messages.Status_RELEASED:
						b.release(key, &messages.ReleaseRequest{Owner: fmt.Sprint("o", round), Token: round + 1})
					default:
						b.get(key)
					}
				}
			}
		}
		c.wantStatuses(c.inbox(e).ask(b), want...)
	}
}

// A call that breaks a rule is refused on its own.
func TestIllegalCallsOfABatch(t *testing.T) {
	t.Parallel()
	_, c := start(t)
	other := "x"
	for messages.ShardOf(other, 4) == batchShard {
		other += "x"
	}
	for _, e := range encodings {
		keys := keysOf(e.String(), 2)
		var b bundle
		b.acquire(keys[0], &messages.AcquireRequest{Owner: "a", TtlMs: hour})
		b.acquire(keys[0], &messages.AcquireRequest{Owner: "a", TtlMs: 1})
		b.release(keys[0], &messages.ReleaseRequest{})
		b.extend(keys[0], &messages.ExtendRequest{Owner: "a"})
		b.breakIt(keys[0], &messages.BreakRequest{})
		b.get(other)
		b.get("=41")
		b.get("a b")
		b.get("")
		b.add(keys[0])
		b.acquire(keys[0], &messages.AcquireRequest{Owner: strings.Repeat("o", 20_000), TtlMs: hour})
		b.acquire(keys[1], &messages.AcquireRequest{Owner: "a", TtlMs: hour})
		words := []string{
			"", "ttl_ms", "owner", "ttl_ms", "token", "shard: " + fmt.Sprint(messages.ShardOf(other, 4)), "key", "key",
			"key",
			"one operation", "16384 bytes", "",
		}
		for i, r := range c.inbox(e).ask(b) {
			want := messages.Status_INVALID
			if words[i] == "" {
				want = messages.Status_GRANTED
			}
			if r.GetStatus() != want || !strings.Contains(r.GetError(), words[i]) {
				t.Errorf("%v: call %d: got %v, want %s that says %q", e, i+1, r, want, words[i])
			}
		}
	}
}

// A field of a call that the service does not know makes that call illegal, in protobuf.
func TestUnknownFieldOfACall(t *testing.T) {
	t.Parallel()
	_, c := start(t)
	keys := keysOf("k", 2)
	get := func(batch []byte, id uint64) []byte {
		return messages.AppendCall(batch, id, keys[0], messages.OpGet, nil)
	}
	strange := get(nil, 2)
	_, _, tag := protowire.ConsumeTag(strange)
	call, _ := protowire.ConsumeBytes(strange[tag:])
	call = protowire.AppendVarint(protowire.AppendTag(slices.Clone(call), 99, protowire.VarintType), 1)
	payload := protowire.AppendBytes(protowire.AppendTag(get(nil, 1), 1, protowire.BytesType), call)
	in := c.inbox(messages.Protobuf)
	in.publish(in.sub.Subject, get(payload, 3))
	got := in.ordered(3)
	c.wantStatuses(got, messages.Status_FREE, messages.Status_INVALID, messages.Status_FREE)
	if !strings.Contains(got[1].GetError(), "unknown field 99") {
		t.Errorf("the error is %q", got[1].GetError())
	}
}

// A batch that cannot be decoded has one answer, without an id, and none of its calls has an effect.
func TestUndecodableBatch(t *testing.T) {
	t.Parallel()
	_, c := start(t)
	key := keysOf("k", 1)[0]
	var many bundle
	for range messages.MaxBatchCalls + 1 {
		many.acquire(key, &messages.AcquireRequest{Owner: "a", TtlMs: hour})
	}
	legal := fmt.Sprintf(`{"id":1,"key":%q,"acquire":{"owner":"a","ttl_ms":60000}}`, key)
	const empty, range1000 = "", "calls: 1 to 1000"
	for _, test := range []struct{ payload, words string }{
		{empty, range1000},
		{`{}`, range1000},
		{`{"calls":[]}`, range1000},
		{string(c.encode(messages.JSON, many)), range1000},
		{string(c.encode(messages.Protobuf, many)), range1000},
		{`{"calls":[` + legal + `,{"id":2,"key":"k","acquire":{"owner":"a","ttlMs":60000}}]}`, "ttlMs"},
		{`{"calls":[` + legal + `,{"id":2,"key":"k","acquire":{"owner":"a","ttl_ms":"60000"}}]}`, "without quotes"},
		{`{"calls":[` + legal + `,{"id":2,"key":"k","lock":{}}]}`, "lock"},
		{`{"calls":[` + legal + `],"more":1}`, "more"},
		{`{"calls":[` + legal, "payload"},
		{string(c.encode(messages.Protobuf, many[:2])) + "\x10\x01", "unknown field 2"},
		{string(c.encode(messages.Protobuf, many[:2])) + "\x0a", "payload"},
		{"not a batch", "payload"},
	} {
		in := c.inbox(messages.EncodingOf("", []byte(test.payload)))
		in.publish(in.sub.Subject, []byte(test.payload))
		r := in.all(1)[0]
		if r.GetStatus() != messages.Status_INVALID || !strings.Contains(r.GetError(), test.words) {
			t.Errorf("%q: got %v, want INVALID that says %q", excerpt([]byte(test.payload)), r, test.words)
		}
	}
	c.want(messages.Status_FREE, 0, "holdfast.get."+key, ``)
}

// The answers to the most calls come in several messages of bounded size.
func TestLargestBatch(t *testing.T) {
	t.Parallel()
	_, c := start(t)
	metadata := map[string]string{"m": strings.Repeat("m", 800)}
	for _, e := range encodings {
		var acquires, gets bundle
		for _, key := range keysOf(e.String(), messages.MaxBatchCalls) {
			acquires.acquire(key, &messages.AcquireRequest{Owner: "a", TtlMs: hour, Metadata: metadata})
			gets.get(key)
		}
		for i, b := range []bundle{acquires, gets} {
			want := []messages.Status{messages.Status_GRANTED, messages.Status_HELD}[i]
			for i, r := range c.inbox(e).ask(b) {
				l := r.GetLease()
				if r.GetStatus() != want || l.GetResource() != b[i].GetKey() || l.GetToken() != 1 ||
					l.GetMetadata()["m"] != metadata["m"] {
					t.Fatalf("call %d got %v, want %s", i+1, r, want)
				}
			}
		}
	}
}

// A repeated call is the same request, in the same batch, in another one, or alone.
func TestRepeatedCall(t *testing.T) {
	t.Parallel()
	_, c := start(t)
	for _, e := range encodings {
		key := keysOf(e.String(), 1)[0]
		again := &messages.AcquireRequest{Owner: "a", TtlMs: hour, RequestId: "r1"}
		var b bundle
		b.acquire(key, again)
		b.acquire(key, again)
		b.acquire(key, &messages.AcquireRequest{Owner: "a", TtlMs: hour, RequestId: "r2"})
		for range 2 {
			got := c.inbox(e).ask(b)
			c.wantStatuses(got, messages.Status_GRANTED, messages.Status_GRANTED, messages.Status_HELD)
			for i, r := range got {
				if r.GetLease().GetToken() != 1 {
					t.Errorf("call %d: got %v", i+1, r)
				}
			}
		}
		c.want(messages.Status_GRANTED, 1, "holdfast.acquire."+key,
			fmt.Sprintf(`{"owner":"a","ttl_ms":%d,"request_id":"r1"}`, hour))
		c.want(messages.Status_RELEASED, 0, "holdfast.release."+key, `{"owner":"a","request_id":"r1"}`)
		c.wantStatuses(c.inbox(e).ask(b[:2]), messages.Status_RELEASED, messages.Status_RELEASED) // late copies
	}
}

// A call that waits is answered when its time has come, and does not hold up the others.
func TestWaitingCall(t *testing.T) {
	t.Parallel()
	_, c := start(t)
	for _, e := range encodings {
		keys := keysOf(e.String(), 2)
		c.want(messages.Status_GRANTED, 1, "holdfast.acquire."+keys[0], `{"owner":"a","ttl_ms":3600000}`)
		var b bundle
		b.acquire(keys[0], &messages.AcquireRequest{Owner: "b", TtlMs: hour, WaitMs: hour})
		b.acquire(keys[0], &messages.AcquireRequest{Owner: "c", TtlMs: hour, WaitMs: 1})
		b.get(keys[1])
		in := c.inbox(e)
		in.send(b)
		got := in.all(2)
		if got[2].GetStatus() != messages.Status_TIMEOUT || got[3].GetStatus() != messages.Status_FREE {
			t.Fatalf("got %v, want TIMEOUT and FREE for calls 2 and 3", got)
		}
		c.want(messages.Status_RELEASED, 0, "holdfast.release."+keys[0], `{"owner":"a"}`)
		got = in.all(1)
		if r := got[1]; r.GetStatus() != messages.Status_GRANTED || r.GetLease().GetToken() != 2 {
			t.Fatalf("got %v, want token 2 for call 1", got)
		}
		c.want(messages.Status_HELD, 2, "holdfast.get."+keys[0], ``)
	}
}

// A repeated call that waits takes the place of the earlier one, which is not answered, also within a batch.
func TestRepeatedCallThatWaits(t *testing.T) {
	t.Parallel()
	_, c := start(t)
	key := keysOf("k", 1)[0]
	c.want(messages.Status_GRANTED, 1, "holdfast.acquire."+key, `{"owner":"a","ttl_ms":3600000}`)
	var b bundle
	for range 2 {
		b.acquire(key, &messages.AcquireRequest{Owner: "b", TtlMs: hour, WaitMs: hour, RequestId: "r"})
	}
	b.get(key)
	first, second := c.inbox(messages.Protobuf), c.inbox(messages.JSON)
	for _, in := range []*inbox{first, second} {
		in.send(b)
		if r := in.all(1)[3]; r.GetWaiting() != 1 {
			t.Fatalf("got %v, want one that waits", r)
		}
	}
	c.want(messages.Status_RELEASED, 0, "holdfast.release."+key, `{"owner":"a"}`)
	if r := second.all(1)[2]; r.GetStatus() != messages.Status_GRANTED || r.GetLease().GetToken() != 2 {
		t.Errorf("got %v", r)
	}
	first.all(0)
}

// Without a listener all grants in a message are taken back, long before their leases end.
func TestBatchWithoutAListener(t *testing.T) {
	t.Parallel()
	_, c := start(t)
	for _, e := range encodings {
		keys := keysOf(e.String(), 6)
		now, later := keys[:4], keys[4:]
		var b bundle
		for _, key := range now {
			b.acquire(key, &messages.AcquireRequest{Owner: "gone", TtlMs: hour})
		}
		for _, key := range later {
			c.want(messages.Status_GRANTED, 1, "holdfast.acquire."+key, `{"owner":"a","ttl_ms":3600000}`)
			b.acquire(key, &messages.AcquireRequest{Owner: "gone", TtlMs: hour, WaitMs: hour})
		}
		c.publish("_INBOX.x", c.encode(e, b))
		c.untilFree(now, 1)
		for _, key := range later {
			c.until("the call waits", func() bool { return c.ask("holdfast.get."+key, ``).GetWaiting() == 1 })
		}
		var releases bundle
		for _, key := range later {
			releases.release(key, &messages.ReleaseRequest{Owner: "a"})
		}
		c.wantStatuses(c.inbox(e).ask(releases), messages.Status_RELEASED, messages.Status_RELEASED)
		c.untilFree(later, 2)
	}
}

// untilFree waits until the lease of each key with this token has ended.
func (c *client) untilFree(keys []string, token uint64) {
	c.Helper()
	for _, key := range keys {
		c.until(key+" is free again", func() bool {
			r := c.ask("holdfast.get."+key, ``)
			return r.GetStatus() == messages.Status_FREE && r.GetLease().GetToken() == token
		})
	}
}

// Only NATS can make the service take the grants of a batch back.
func TestForgedReportOfABatch(t *testing.T) {
	t.Parallel()
	_, c := start(t)
	keys := keysOf("k", 2)
	var b bundle
	for _, key := range keys {
		b.acquire(key, &messages.AcquireRequest{Owner: "a", TtlMs: hour})
	}
	in := c.inbox(messages.Protobuf)
	in.send(b)
	m := stand.Value(in.sub.NextMsg(patience))(t)
	if m.Reply == "" {
		t.Fatal("the grants have no reply subject: the test is vacuous")
	}
	dot := strings.LastIndex(m.Reply, ".")
	for _, forged := range []*nats.Msg{
		{Subject: m.Reply},
		{Subject: m.Reply, Header: nats.Header{"Status": {"200"}}},
		{Subject: m.Reply[:dot] + ".2", Header: nats.Header{"Status": {"503"}}},
		{Subject: m.Reply + "." + keys[0], Header: nats.Header{"Status": {"503"}}},
	} {
		stand.Must(t, c.nc.PublishMsg(forged))
	}
	var gone bundle
	last := keysOf("last", 1)
	gone.acquire(last[0], &messages.AcquireRequest{Owner: "gone", TtlMs: hour})
	c.publish("_INBOX.x", c.encode(messages.Protobuf, gone))
	c.untilFree(last, 1) // its report comes behind the forged ones
	for _, key := range keys {
		c.want(messages.Status_HELD, 1, "holdfast.get."+key, ``)
	}
}

// A batch whose answers would go anywhere but to an inbox is dropped.
func TestBatchWithoutAnInbox(t *testing.T) {
	t.Parallel()
	_, c := start(t)
	key := keysOf("k", 1)[0]
	var b bundle
	b.acquire(key, &messages.AcquireRequest{Owner: "a", TtlMs: hour})
	replies := []string{"", "$KV.HOLDFAST_0.journal.2", "$JS.API.STREAM.DELETE.KV_HOLDFAST_0",
		"holdfast.release.orders.42", "holdfast.shard.3.batch", strings.Repeat("x", 256)}
	for _, reply := range replies {
		for _, e := range encodings {
			c.publish(reply, c.encode(e, b))
		}
	}
	in := c.inbox(messages.Protobuf)
	got := in.ask(bundle{{Id: 1, Key: key, Operation: &messages.Call_Get{Get: &messages.GetRequest{}}}})
	if got[0].GetStatus() != messages.Status_FREE || got[0].GetLease() != nil {
		t.Errorf("got %v, want that nothing was ever granted", got[0])
	}
	if n := c.stats()["dropped"]; n != float64(2*len(replies)) {
		t.Errorf("%v are counted as dropped, want %d", n, 2*len(replies))
	}
}

// Each call counts against the limits, and those beyond are refused one by one.
func TestRateOfCalls(t *testing.T) {
	t.Parallel()
	s := stand.Start(t, stand.Config{Shards: 4, Capacity: node.Capacity{Rate: 1, Burst: 5}})
	c, key := &client{t, s.Connect()}, keysOf("k", 1)[0]
	for _, e := range encodings {
		var b bundle
		for range 50 {
			b.get(key)
		}
		in := c.inbox(e)
		overloaded := 0
		for i, r := range in.ask(b) {
			switch {
			case r.GetStatus() == messages.Status_OVERLOADED &&
				strings.Contains(r.GetError(), "rate: 1 requests a second"):
				overloaded++
			case r.GetStatus() != messages.Status_FREE:
				t.Errorf("call %d: got %v", i+1, r)
			}
		}
		if e == messages.Protobuf && (overloaded == 0 || overloaded > 45) {
			t.Errorf("%d of 50 calls are refused, want all but the 5 of the burst", overloaded)
		}
	}
}
