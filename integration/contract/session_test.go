package contract

import (
	"fmt"
	"strings"
	"testing"

	"github.com/nats-io/nats.go"

	"github.com/holdfast-io/holdfast/messages"
)

const session = "contract-session-1"

// One request keeps the leases of a session in all shards alive, and one ends them.
func TestSession(t *testing.T) {
	t.Parallel()
	_, c := start(t)
	for i := range 10 {
		r := c.want(messages.Status_GRANTED, 1, fmt.Sprint("holdfast.acquire.r", i),
			fmt.Sprintf(`{"owner":"ann","ttl_ms":60000,"session":%q}`, session))
		if want := messages.SessionLabel(messages.SessionHash(session)); r.GetLease().GetSession() != want {
			t.Fatalf("the lease shows session %q, want %q", r.GetLease().GetSession(), want)
		}
	}
	kept := c.want(messages.Status_EXTENDED, 0, "holdfast.keep."+session, `{"ttl_ms":60000}`)
	if kept.GetHeld() != 10 || kept.GetLosses() == 0 {
		t.Errorf("keep: %v", kept)
	}
	c.want(messages.Status_RELEASED, 0, "holdfast.break.r3", `{"token":1}`)
	if r := c.want(messages.Status_EXTENDED, 0, "holdfast.keep."+session, `{"ttl_ms":60000}`); r.GetHeld() != 9 || r.GetLosses() == kept.GetLosses() {
		t.Errorf("keep after a break: %v, before it %v", r, kept)
	}
	c.want(messages.Status_RELEASED, 0, "holdfast.end."+session, ``)
	for i := range 10 {
		c.want(messages.Status_FREE, 1, fmt.Sprint("holdfast.get.r", i), ``)
	}
	c.want(messages.Status_NOT_HELD, 0, "holdfast.keep."+session, `{"ttl_ms":60000}`)
	c.want(messages.Status_NOT_HELD, 0, "holdfast.end."+session, ``)
}

// An extend takes a lease into a session and out of it.
func TestExtendWithASession(t *testing.T) {
	t.Parallel()
	_, c := start(t)
	keys := keysOf("x", 2) // of one shard
	resource, other := keys[0], keys[1]
	extend := func(want messages.Status, more string) *messages.Reply {
		t.Helper()
		return c.want(want, 1, "holdfast.extend."+resource, `{"owner":"ann","token":1,"ttl_ms":60000`+more+`}`)
	}
	in := fmt.Sprintf(`,"session":%q`, session)
	c.want(messages.Status_GRANTED, 1, "holdfast.acquire."+resource, `{"owner":"ann","ttl_ms":10000}`)
	r := extend(messages.Status_EXTENDED, in)
	if l := r.GetLease(); l.GetSession() == "" || l.GetTtlMs() != 60000 || l.GetRemainingMs() < 50000 {
		t.Errorf("the lease is %v, want it in the session", l)
	}
	if r := c.want(messages.Status_EXTENDED, 0, "holdfast.keep."+session, `{"ttl_ms":60000}`); r.GetHeld() != 1 {
		t.Errorf("keep: %v", r)
	}
	if l := extend(messages.Status_EXTENDED, "").GetLease(); l.GetSession() != "" {
		t.Errorf("the lease is %v, want it by itself", l)
	}
	if r := c.want(messages.Status_EXTENDED, 0, "holdfast.keep."+session, `{"ttl_ms":60000}`); r.GetHeld() != 0 {
		t.Errorf("keep: %v", r)
	}
	c.want(messages.Status_GRANTED, 1, "holdfast.acquire."+other, fmt.Sprintf(
		`{"owner":"bob","ttl_ms":60000,"session":%q,"secret_hash":%q}`, session+"of-bob",
		"n4bQgYhMfWWaL+qgxVrQFaO/TxsrC4Is0V1sFbDwCgg="))
	for more, want := range map[string]string{
		`,"session":"short"`:                           "session: 16 to 64 bytes",
		`,"limit":2` + in:                              "session: none beside limit",
		fmt.Sprintf(`,"session":%q`, session+"of-bob"): "secret_hash",
	} {
		if r := c.want(messages.Status_INVALID, 0, "holdfast.extend."+resource,
			`{"owner":"ann","token":1,"ttl_ms":60000`+more+`}`); !strings.Contains(r.GetError(), want) {
			t.Errorf("%s: %q, want %q", more, r.GetError(), want)
		}
	}
}

// On the direct subjects and in batches a session is that of one shard.
func TestSessionOfAShard(t *testing.T) {
	t.Parallel()
	for _, e := range encodings {
		t.Run(fmt.Sprint(e), func(t *testing.T) {
			_, c := start(t)
			var b bundle
			for _, key := range keysOf("s", 3) {
				b.acquire(key, &messages.AcquireRequest{Owner: "ann", TtlMs: hour, Session: session})
			}
			b.add(session).Operation = &messages.Call_Keep{Keep: &messages.KeepRequest{TtlMs: hour}}
			b.add(session).Operation = &messages.Call_End{End: &messages.EndRequest{Orphan: true}}
			b.add(session).Operation = &messages.Call_Keep{Keep: &messages.KeepRequest{TtlMs: hour}}
			b.add("short").Operation = &messages.Call_End{End: &messages.EndRequest{}}
			inbox := c.inbox(e)
			inbox.send(b)
			got := inbox.all(len(b))
			for id, want := range map[uint64]messages.Status{
				1: messages.Status_GRANTED, 3: messages.Status_GRANTED, 4: messages.Status_EXTENDED,
				5: messages.Status_RELEASED, 6: messages.Status_UNAVAILABLE, 7: messages.Status_INVALID,
			} {
				if r := got[id]; r.GetStatus() != want {
					t.Errorf("call %d: %v, want %v", id, r, want)
				}
			}
			if got[4].GetHeld() != 3 {
				t.Errorf("keep: %v", got[4])
			}
			c.want(messages.Status_NOT_HELD, 0, messages.DefaultPrefix.Direct(messages.Shard{Number: batchShard}, messages.OpKeep, session),
				`{"ttl_ms":1000}`)
			r := c.want(messages.Status_HELD, 1, "holdfast.get."+keysOf("s", 1)[0], ``)
			if r.GetLease().GetSession() != "" {
				t.Errorf("an orphan is still in session %q", r.GetLease().GetSession())
			}
		})
	}
}

// A session survives a change of its shard's owner, with its leases.
func TestSessionAfterARestart(t *testing.T) {
	t.Parallel()
	s, c := start(t)
	acquire := fmt.Sprintf(`{"owner":"ann","ttl_ms":60000,"session":%q}`, session)
	c.want(messages.Status_GRANTED, 1, "holdfast.acquire.r", acquire)
	before := c.want(messages.Status_EXTENDED, 0, "holdfast.keep."+session, `{"ttl_ms":120000}`)
	s.Restart()
	c = &client{t, s.Connect()}
	if r := c.want(messages.Status_HELD, 1, "holdfast.get.r", ``); r.GetLease().GetTtlMs() != 120_000 || r.GetLease().GetRemainingMs() < 60_000 {
		t.Errorf("the lease is %v", r)
	}
	after := c.want(messages.Status_EXTENDED, 0, "holdfast.keep."+session, `{"ttl_ms":60000}`)
	if after.GetHeld() != 1 || after.GetLosses() == before.GetLosses() {
		t.Errorf("keep: %v, before %v", after, before)
	}
}

// A reentrant acquire leaves the session of a lease as it is, and is refused if it names another one.
func TestReentrantInASession(t *testing.T) {
	t.Parallel()
	_, c := start(t)
	again := func(resource, session string) *nats.Msg {
		return &nats.Msg{Subject: "holdfast.acquire." + resource,
			Data: fmt.Appendf(nil, `{"owner":"ann","ttl_ms":1000,"reentrant":true,"session":%q}`, session)}
	}
	label, other := messages.SessionLabel(messages.SessionHash(session)), "contract-session-2"
	c.want(messages.Status_GRANTED, 1, "holdfast.acquire.in",
		fmt.Sprintf(`{"owner":"ann","ttl_ms":3600000,"session":%q}`, session))
	c.want(messages.Status_GRANTED, 1, "holdfast.acquire.out", `{"owner":"ann","ttl_ms":3600000}`)
	c.wantInvalid(again("in", other), messages.JSON, fmt.Sprintf("session: %q or none", label), "release the lease")
	c.wantInvalid(again("out", session), messages.JSON, "session: none", "release the lease")
	for _, named := range []string{session, ""} {
		m := again("in", named)
		r := c.want(messages.Status_GRANTED, 1, m.Subject, string(m.Data))
		if l := r.GetLease(); l.GetSession() != label || l.GetTtlMs() != hour {
			t.Errorf("with session %q the lease is %v", named, l)
		}
	}
	if l := c.want(messages.Status_HELD, 1, "holdfast.get.out", ``).GetLease(); l.GetSession() != "" || l.GetTtlMs() != hour {
		t.Errorf("the lease without a session is %v", l)
	}
	c.want(messages.Status_NOT_HELD, 0, "holdfast.keep."+other, `{"ttl_ms":60000}`)
}

func TestInvalidSessions(t *testing.T) {
	t.Parallel()
	_, c := start(t)
	for _, bad := range []struct{ subject, payload, words string }{
		{"holdfast.keep.short", `{"ttl_ms":1000}`, "session: 16 to 64 bytes"},
		{"holdfast.keep." + session, `{}`, "ttl_ms: 100 to"},
		{"holdfast.keep." + session, `{"ttl_ms":1000,"alive":"$SYS.x"}`, "alive: an inbox, not beginning with $"},
		{"holdfast.keep." + session, `{"ttl_ms":1000,"alive":"holdfast.break.x"}`,
			"alive: an inbox, not below holdfast"},
		{"holdfast.keep." + session, `{"ttl_ms":1000,"alive":"a.*"}`, "alive"},
		{"holdfast.keep." + session, `{"ttl_ms":1000,"disconnect_ms":5000}`,
			"alive: a subject on which the client listens"},
		{"holdfast.keep." + session, `{"ttl_ms":1000,"alive":"_INBOX.x","disconnect_ms":4999}`,
			"disconnect_ms: 5000 to"},
		{"holdfast.end." + session, `{"token":1}`, "token"},
		{"holdfast.acquire.r", `{"owner":"a","ttl_ms":1000,"session":"short"}`, "session: 16 to 64 bytes"},
	} {
		c.wantInvalid(&nats.Msg{Subject: bad.subject, Data: []byte(bad.payload)}, messages.JSON, bad.words)
	}
}

// While another request waits, the lease of a client whose connection is gone goes to it; without one that waits, and
// while the client listens, the session lives on.
func TestDisconnectedSession(t *testing.T) {
	t.Parallel()
	s, c := start(t)
	gone, stays, idle := s.Connect(), s.Connect(), s.Connect()
	for name, nc := range map[string]*nats.Conn{"gone": gone, "stays": stays, "idle": idle} {
		alive := nats.NewInbox()
		if _, err := nc.SubscribeSync(alive); err != nil {
			t.Fatal(err)
		}
		if err := nc.Flush(); err != nil {
			t.Fatal(err)
		}
		id := session + name
		for _, resource := range []string{name, "free." + name} {
			c.want(messages.Status_GRANTED, 1, "holdfast.acquire."+resource,
				fmt.Sprintf(`{"owner":%q,"ttl_ms":3600000,"session":%q}`, name, id))
		}
		c.want(messages.Status_EXTENDED, 0, "holdfast.keep."+id,
			fmt.Sprintf(`{"ttl_ms":3600000,"alive":%q,"disconnect_ms":5000}`, alive))
	}
	events, err := c.nc.SubscribeSync("holdfast.event.gone")
	if err != nil {
		t.Fatal(err)
	}
	gone.Close()
	idle.Close()
	// its client may come back
	c.want(messages.Status_TIMEOUT, 0, "holdfast.acquire.gone", `{"owner":"bob","ttl_ms":60000,"wait_ms":2500}`)
	c.want(messages.Status_TIMEOUT, 0, "holdfast.acquire.stays", `{"owner":"bob","ttl_ms":60000,"wait_ms":6500}`)
	c.want(messages.Status_GRANTED, 2, "holdfast.acquire.gone", `{"owner":"bob","ttl_ms":60000,"wait_ms":3600000}`)
	m, err := events.NextMsg(patience)
	if err != nil {
		t.Fatal(err)
	}
	var e messages.Event
	if err := messages.DecodeReply(messages.JSON, m.Data, &e); err != nil || e.GetKind() != messages.Event_EXPIRED || e.GetReason() != "disconnected" {
		t.Errorf("the event is %v (%v)", &e, err)
	}
	for _, resource := range []string{"stays", "free.stays", "idle", "free.idle"} {
		c.want(messages.Status_HELD, 1, "holdfast.get."+resource, ``)
	}
}
