package contract

import (
	"fmt"
	"strings"
	"testing"

	"github.com/nats-io/nats.go"
	"google.golang.org/protobuf/proto"

	"github.com/holdfast-io/holdfast/messages"
)

// requester sends requests about one resource in one of the forms that a client may choose: alone or in a batch, in
// protobuf or in JSON.
type requester struct {
	*client
	encoding messages.Encoding
	batched  bool
	// key is that of the resource, which it is as well.
	key string
}

// eachForm runs the test in all forms, each with a resource of its own.
func eachForm(t *testing.T, c *client, test func(q *requester)) {
	t.Helper()
	for _, e := range encodings {
		for _, batched := range []bool{false, true} {
			name := e.String() + map[bool]string{false: "-alone", true: "-batched"}[batched]
			t.Run(name, func(t *testing.T) {
				test(&requester{&client{t, c.nc}, e, batched, keysOf(strings.ReplaceAll(t.Name(), "/", "-"), 1)[0]})
			})
		}
	}
}

// pending is a request that may be answered later.
type pending struct {
	*requester
	sub *nats.Subscription
}

// ask sends a request of any operation; the answer comes with [pending.reply].
func (q *requester) ask(request proto.Message) pending {
	q.Helper()
	inbox := nats.NewInbox()
	sub, err := q.nc.SubscribeSync(inbox)
	if err != nil {
		q.Fatal(err)
	}
	subject, payload := q.encode(request)
	if err := q.nc.PublishMsg(&nats.Msg{Subject: subject, Reply: inbox, Data: payload}); err != nil {
		q.Fatal(err)
	}
	return pending{q, sub}
}

// encode returns the subject and the payload of a request.
func (q *requester) encode(request proto.Message) (subject string, payload []byte) {
	q.Helper()
	var b bundle
	var op messages.Operation
	switch r := request.(type) {
	case *messages.AcquireRequest:
		op = messages.OpAcquire
		b.acquire(q.key, r)
	case *messages.ReleaseRequest:
		op = messages.OpRelease
		b.release(q.key, r)
	case *messages.ExtendRequest:
		op = messages.OpExtend
		b.extend(q.key, r)
	case *messages.SetRequest:
		op = messages.OpSet
		b.add(q.key).Operation = &messages.Call_Set{Set: r}
	case *messages.GetRequest:
		op = messages.OpGet
		b.add(q.key).Operation = &messages.Call_Get{Get: r}
	case *messages.BreakRequest:
		op = messages.OpBreak
		b.breakIt(q.key, r)
	case *messages.ConfirmRequest:
		op = messages.OpConfirm
		b.add(q.key).Operation = &messages.Call_Confirm{Confirm: r}
	default:
		q.Fatalf("%T is no request", request)
	}
	if q.batched {
		return messages.DefaultPrefix.Batch(messages.Shard{Number: batchShard}), q.client.encode(q.encoding, b)
	}
	payload, err := messages.Encode(q.encoding, request)
	if err != nil {
		q.Fatal(err)
	}
	return messages.DefaultPrefix.Direct(messages.Shard{Number: batchShard}, op, q.key), payload
}

// reply returns the answer, which must come, after it has checked the headers of an error.
func (p pending) reply() *messages.Reply {
	p.Helper()
	m, err := p.sub.NextMsg(patience)
	if err != nil {
		p.Fatal(err)
	}
	if p.batched {
		var b messages.BatchReply
		if err := messages.DecodeReply(p.encoding, m.Data, &b); err != nil || len(b.GetAnswers()) != 1 || b.GetAnswers()[0].GetId() != 1 {
			p.Fatalf("%q: %v", excerpt(m.Data), err)
		}
		return b.GetAnswers()[0].GetReply()
	}
	r := p.decode(messages.EncodingOf("", m.Data), m)
	code, _ := r.GetStatus().ServiceCode()
	if got := m.Header.Get(messages.HeaderServiceErrorCode); code != 0 && got != fmt.Sprint(code) {
		p.Errorf("%s has the service error code %q", r.GetStatus(), got)
	}
	return r
}

// want asks, checks the status, and the token unless it is 0.
func (q *requester) want(status messages.Status, token uint64, request proto.Message) *messages.Reply {
	q.Helper()
	return q.ask(request).want(status, token)
}

// want checks the answer in the same way.
func (p pending) want(status messages.Status, token uint64) *messages.Reply {
	p.Helper()
	r := p.reply()
	if r.GetStatus() != status || token != 0 && r.GetLease().GetToken() != token {
		p.Fatalf("got %v, want %s token %d", r, status, token)
	}
	return r
}

// wait sends an acquire that waits, as the last of so many.
func (q *requester) wait(waiting uint32, r *messages.AcquireRequest) pending {
	q.Helper()
	r.WaitMs = hour
	p := q.ask(r)
	q.until("it waits", func() bool { return q.state().GetWaiting() == waiting })
	return p
}

// state asks for everything that the service shows of the resource.
func (q *requester) state() *messages.Reply {
	q.Helper()
	r := q.ask(&messages.GetRequest{Waiters: true}).reply()
	if r.GetStatus() != messages.Status_HELD && r.GetStatus() != messages.Status_FREE {
		q.Fatalf("got %v", r)
	}
	return r
}

// unlimited is the limit of readers.
const unlimited = 1<<32 - 1

// of is a request for permits of a resource, with an id that is the owner's name.
func of(owner string, limit, permits uint32) *messages.AcquireRequest {
	return &messages.AcquireRequest{Owner: owner, TtlMs: hour, RequestId: owner, Limit: limit, Permits: permits}
}

func reader(owner string) *messages.AcquireRequest { return of(owner, unlimited, 0) }

func writer(owner string) *messages.AcquireRequest { return of(owner, 0, 0) }

// give is the release of a lease by its owner.
func give(owner string, token uint64) *messages.ReleaseRequest {
	return &messages.ReleaseRequest{Owner: owner, Token: token}
}

// wantLease checks what says who may do what: the owner, the token, the fence, the limit and the slots.
func (q *requester) wantLease(l *messages.Lease, owner string, token, fence uint64, limit uint32, slots ...uint32) {
	q.Helper()
	got := fmt.Sprintln(l.GetResource(), l.GetOwner(), l.GetToken(), l.GetFence(), l.GetLimit(), l.GetSlots())
	if want := fmt.Sprintln(q.key, owner, token, messages.Token(fence), limit, slots); got != want {
		q.Errorf("the lease is %v,\nwant %s", l, want)
	}
}

// wantHolders checks who holds, by owner, the oldest first, and how many permits.
func (q *requester) wantHolders(r *messages.Reply, held uint32, owners ...string) {
	q.Helper()
	var got []string
	for _, l := range r.GetHolders() {
		got = append(got, l.GetOwner())
	}
	if fmt.Sprint(got) != fmt.Sprint(owners) || r.GetHeld() != held ||
		len(got) > 0 && !proto.Equal(r.GetLease(), r.GetHolders()[0]) {
		q.Fatalf("got %v,\nwant %d permits of %v", r, held, owners)
	}
}
