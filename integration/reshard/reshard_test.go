package reshard_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/holdfast-io/holdfast/integration/stand"
	"github.com/holdfast-io/holdfast/messages"
)

// While the number of shards changes twice, no call of clients fails that know nothing of it, tokens go on one by one,
// holders keep their leases, those who wait have their turns, and events are neither lost nor repeated.
func TestReshardUnderLoad(t *testing.T) {
	t.Parallel()
	d := deploy(t, 3, 1)
	nc := d.connect()
	first := d.settled(nc)
	events := d.watch()
	l := d.load(8, 50, first)
	held := d.want(nc, messages.Status_GRANTED, 1, "holdfast.acquire.held", `{"owner":"h","ttl_ms":600000}`)
	var granted [2]chan uint64
	for i := range granted {
		granted[i] = make(chan uint64, 1)
		waiter := d.connect()
		go func() {
			r, _ := d.ask(waiter, "holdfast.acquire.held", fmt.Sprintf(`{"owner":"q%d","ttl_ms":600000,"wait_ms":60000}`, i))
			granted[i] <- r.GetLease().GetToken()
		}()
		stand.Eventually(t, "it waits", func() bool {
			r, _ := d.ask(nc, "holdfast.get.held", `{}`)
			return int(r.GetWaiting()) == i+1
		})
	}
	for _, next := range []messages.Shards{{Generation: 1, Count: 4}, {Generation: 2, Count: 2}} {
		r := d.mustReshard(next.Count)
		if is := d.settled(nc); is != next || r.Is != next {
			t.Errorf("it is %v, want %v", is, next)
		}
		t.Logf("%v", r)
	}
	if n := l.end(); n > 0 {
		t.Errorf("%d calls were refused", n)
	}
	d.want(nc, messages.Status_EXTENDED, held.GetLease().GetToken(), "holdfast.extend.held",
		`{"owner":"h","token":1,"ttl_ms":600000}`)
	d.want(nc, messages.Status_RELEASED, 0, "holdfast.release.held", `{"owner":"h","token":1}`)
	if token := <-granted[0]; token != 2 {
		t.Errorf("the first in the queue has token %d", token)
	}
	d.want(nc, messages.Status_RELEASED, 0, "holdfast.release.held", `{"owner":"q0","token":2}`)
	if token := <-granted[1]; token != 3 {
		t.Errorf("the second in the queue has token %d", token)
	}
	d.want(nc, messages.Status_RELEASED, 0, "holdfast.release.held", `{"owner":"q1","token":3}`)
	events.check(l)
}

// Former direct subjects are served as front subjects, and say which generation is in use.
func TestFormerSubjects(t *testing.T) {
	t.Parallel()
	d := deploy(t, 3, 2)
	nc := d.connect()
	former := d.settled(nc)
	const session, leases = "0123456789abcdef0123456789abcdef", 20
	for i := range leases {
		d.want(nc, messages.Status_GRANTED, 1, fmt.Sprint("holdfast.acquire.r", i),
			fmt.Sprintf(`{"owner":"ann","ttl_ms":600000,"session":%q}`, session))
	}
	losses := d.want(nc, messages.Status_EXTENDED, 0, "holdfast.keep."+session, `{"ttl_ms":600000}`).GetLosses()
	d.mustReshard(3)
	d.mustReshard(5)
	is := d.settled(nc)
	if r := d.want(nc, messages.Status_EXTENDED, 0, "holdfast.keep."+session, `{"ttl_ms":600000}`); r.GetHeld() != leases ||
		r.GetLosses() == losses {
		t.Errorf("keep: %v, losses were %d", r, losses)
	}
	for i := range leases { // whichever node takes it
		key := fmt.Sprint("r", i)
		for _, shard := range []messages.Shard{
			{Number: 0}, {Number: 1}, {Generation: 1, Number: 2}, {Generation: 1, Number: 0}, is.Of(key),
		} {
			r, h := d.answered(nc, messages.DefaultPrefix.Direct(shard, messages.OpGet, key), `{}`)
			want := "2"
			if shard.Generation == is.Generation {
				want = ""
			}
			if got := h.Get(messages.HeaderGeneration); r.GetStatus() != messages.Status_HELD || got != want {
				t.Errorf("get on shard %v: %v, generation %q, want %q", shard, r, got, want)
			}
		}
	}
	for _, shard := range []messages.Shard{former.Shard(1), {Generation: 1, Number: 2}} {
		r, h := d.answered(nc, messages.DefaultPrefix.Direct(shard, messages.OpKeep, session), `{"ttl_ms":600000}`)
		if r.GetHeld() != leases || h.Get(messages.HeaderGeneration) != "2" {
			t.Errorf("keep on shard %v: %v, header %v", shard, r, h)
		}
	}
	d.batch(nc, former.Shard(0), leases)
	r, h := d.answered(nc, messages.DefaultPrefix.Direct(former.Shard(0), messages.OpEnd, session), `{}`)
	if r.GetStatus() != messages.Status_RELEASED || h.Get(messages.HeaderGeneration) != "2" {
		t.Errorf("end: %v, header %v", r, h)
	}
	d.want(nc, messages.Status_FREE, 1, "holdfast.get.r0", `{}`)
	if _, err := nc.Request(messages.DefaultPrefix.Direct(messages.Shard{Generation: 9}, messages.OpGet, "r0"), nil,
		time.Second); err == nil {
		t.Error("a generation that was never made answers")
	}
}

// batch sends one batch to a former shard with calls that belong to several.
func (d *deployment) batch(nc *nats.Conn, shard messages.Shard, leases int) {
	d.Helper()
	inbox := nc.NewInbox()
	sub := stand.Value(nc.SubscribeSync(inbox))(d)
	var calls []string
	for i := range leases {
		calls = append(calls, fmt.Sprintf(`{"id":%d,"key":"r%d","get":{}}`, i+1, i))
	}
	body := fmt.Sprintf(`{"calls":[%s]}`, strings.Join(calls, ","))
	stand.Must(d, nc.PublishMsg(&nats.Msg{Subject: messages.DefaultPrefix.Batch(shard), Reply: inbox, Data: []byte(body)}))
	answered := make(map[uint64]bool)
	for len(answered) < leases {
		m := stand.Value(sub.NextMsg(patience))(d)
		var r messages.BatchReply
		stand.Must(d, messages.DecodeReply(messages.JSON, m.Data, &r))
		if m.Header.Get(messages.HeaderGeneration) != "2" {
			d.Fatalf("the answer to a batch has the header %v", m.Header)
		}
		for _, a := range r.GetAnswers() {
			if answered[a.GetId()] || a.GetReply().GetStatus() != messages.Status_HELD {
				d.Errorf("call %d: %v", a.GetId(), a.GetReply())
			}
			answered[a.GetId()] = true
		}
	}
}
