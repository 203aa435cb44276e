package nodes

import (
	"fmt"
	"testing"

	"github.com/nats-io/nats.go"

	"github.com/holdfast-io/holdfast/integration/stand"
	"github.com/holdfast-io/holdfast/messages"
)

const session = "nodes-session-01"

// asked asks in JSON and returns the answer.
func (f *fleet) asked(nc *nats.Conn, subject, payload string) *messages.Reply {
	f.Helper()
	m, err := nc.Request(subject, []byte(payload), patience)
	if err != nil {
		f.Fatalf("%s %s: %v", subject, payload, err)
	}
	var r messages.Reply
	if err := messages.DecodeReply(messages.JSON, m.Data, &r); err != nil {
		f.Fatal(err)
	}
	return &r
}

// answers returns how many answers to an operation the nodes have counted.
func (f *fleet) answers(op messages.Operation) (n uint64) {
	for _, p := range f.nodes {
		for _, a := range p.Figures().Answers {
			if a.Operation == op {
				n += a.Count
			}
		}
	}
	return n
}

// Whichever node takes a request about a session, it concerns the shards of all nodes; a node that dies or leaves takes
// no lease of the session with it.
func TestSessionOfManyNodes(t *testing.T) {
	f := newFleet(t)
	f.startAll("n1", "n2", "n3")
	nc := f.connect()
	const leases = 40
	for i := range leases {
		f.want(nc, messages.Status_GRANTED, 1, fmt.Sprint("holdfast.acquire.r", i),
			fmt.Sprintf(`{"owner":"ann","ttl_ms":600000,"session":%q}`, session))
	}
	var kept uint64
	keep := func() *messages.Reply {
		f.Helper()
		kept++
		r := f.asked(nc, "holdfast.keep."+session, `{"ttl_ms":600000}`)
		if r.GetStatus() != messages.Status_EXTENDED || r.GetHeld() != leases {
			t.Fatalf("keep: %v", r)
		}
		return r
	}
	losses := keep().GetLosses()
	for range 3 * len(f.nodes) { // any node takes it
		if r := keep(); r.GetLosses() != losses {
			t.Fatalf("losses %d became %d", losses, r.GetLosses())
		}
	}
	if n := f.answers(messages.OpKeep); n != kept {
		t.Errorf("%d answers are counted for %d requests: those of the shards are none to a client", n, kept)
	}
	f.stop(f.owner("r0"))
	f.settled()
	if r := keep(); r.GetLosses() == losses {
		t.Error("a change of owners is no loss")
	}
	f.kill(f.owner("r0"))
	f.settled()
	keep()
	f.want(nc, messages.Status_RELEASED, 0, "holdfast.end."+session, ``)
	for i := range leases {
		f.want(nc, messages.Status_FREE, 1, fmt.Sprint("holdfast.get.r", i), ``)
	}
	f.want(nc, messages.Status_NOT_HELD, 0, "holdfast.keep."+session, `{"ttl_ms":600000}`)
}

// A keep of all shards names what is wanted at all nodes, within the bound of one answer, and each resource has its turn.
// The notices of a shard come from the node that owns it since the latest keep.
func TestWantedOfManyNodes(t *testing.T) {
	f := newFleet(t)
	f.startAll("n1", "n2", "n3")
	nc := f.connect()
	notices := stand.Value(nc.SubscribeSync("_INBOX.ann"))(t)
	const leases = 150
	for i := range leases {
		f.want(nc, messages.Status_GRANTED, 1, fmt.Sprint("holdfast.acquire.r", i),
			fmt.Sprintf(`{"owner":"ann","ttl_ms":600000,"session":%q}`, session))
	}
	keep := func() []string {
		f.Helper()
		r := f.asked(nc, "holdfast.keep."+session, `{"ttl_ms":600000,"notices":true,"alive":"_INBOX.ann"}`)
		if r.GetStatus() != messages.Status_EXTENDED || len(r.GetWanted()) > messages.MaxWanted {
			t.Fatalf("keep: %v", r)
		}
		return r.GetWanted()
	}
	if wanted := keep(); len(wanted) > 0 {
		t.Errorf("nobody wants %q", wanted)
	}
	try := func() {
		f.Helper()
		for i := range leases {
			f.want(nc, messages.Status_HELD, 1, fmt.Sprint("holdfast.acquire.r", i), `{"owner":"bob","ttl_ms":600000}`)
		}
	}
	try()
	// Each was refused once, and is named once.
	named := make(map[string]int)
	for len(named) < leases {
		wanted := keep()
		if len(wanted) == 0 {
			t.Fatalf("%d of %d wanted resources were named", len(named), leases)
		}
		for _, r := range wanted {
			if named[r]++; named[r] > 1 {
				t.Fatalf("%s is named again", r)
			}
		}
	}
	heard := func() {
		all := make(map[string]bool)
		for len(all) < leases {
			var n messages.Notice
			m := stand.Value(notices.NextMsg(patience))(t)
			stand.Must(t, messages.DecodeReply(messages.JSON, m.Data, &n))
			if all[n.GetResource()] = true; n.GetToken() != 1 {
				t.Fatalf("a notice: %v", &n)
			}
		}
	}
	heard()
	f.stop(f.owner("r0"))
	f.settled()
	keep()
	try()
	heard()
}
