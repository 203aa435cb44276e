package messages_test

import (
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/holdfast-io/holdfast/messages"
	"github.com/holdfast-io/holdfast/messages/blindtest"
)

// The parts of an address give the subject again. So no two subjects have the same address.
func FuzzSubject(f *testing.F) {
	target := blindtest.New(f)
	for _, seed := range []string{
		"holdfast.acquire.orders.42", "holdfast.shard.7.release.a", "holdfast.shard.0.batch", "holdfast.keep.s",
		"holdfast.shard.+1.get.a", "holdfast.shard.01.get.a",
		"holdfast.acquire.", "holdfast", "holdfastx.get.a",
	} {
		target.Add(seed)
	}
	target.Fuzz(func(t *testing.T, subject string) {
		a, err := messages.DefaultPrefix.Parse(subject)
		if err != nil {
			checkInvalid(t, err)
			if a != (messages.Address{}) {
				t.Errorf("%q: %+v beside the error", subject, a)
			}
			return
		}
		p := messages.DefaultPrefix
		again := p.Operation(a.Operation, a.Key)
		switch {
		case a.Direct && a.Operation == messages.OpBatch:
			again = p.Batch(a.Shard)
		case a.Direct:
			again = p.Direct(a.Shard, a.Operation, a.Key)
		}
		if again != subject && again != strings.TrimSuffix(subject, ".") { // a batch may have an empty level behind it
			t.Errorf("%q is read as %+v, which is %q", subject, a, again)
		}
	})
}

// A prefix that is accepted makes subjects that are read again, and names of buckets that NATS accepts.
func FuzzPrefix(f *testing.F) {
	target := blindtest.New(f)
	for _, seed := range []string{"holdfast", "a.b-c_D", "_INBOX", "$SYS", "a..b", ".a", "a.", "a*", "a.>", "é",
		strings.Repeat("a", messages.MaxPrefixBytes+1)} {
		target.Add(seed)
	}
	target.Fuzz(func(t *testing.T, s string) {
		p, err := messages.ParsePrefix(s)
		if err != nil {
			checkInvalid(t, err)
			return
		}
		if a, err := p.Parse(p.Direct(messages.Shard{Number: 3}, messages.OpGet, "a.b")); err != nil || a.Shard != (messages.Shard{Number: 3}) || a.Key != "a.b" {
			t.Errorf("%q: %+v, %v", s, a, err)
		}
		if strings.ContainsAny(p.Bucket(messages.Shard{Number: 1}), ".*> \t/\\") {
			t.Errorf("%q has the bucket %q", s, p.Bucket(messages.Shard{Number: 1}))
		}
		if p.CheckReply(p.Nodes()) == nil || p.CheckReply(p.List()) == nil || p.CheckReply(string(p)) == nil {
			t.Errorf("%q takes replies to its own subjects", s)
		}
	})
}

// A reply subject that is accepted names one subject, outside what only the service may publish to.
func FuzzReplySubject(f *testing.F) {
	target := blindtest.New(f)
	for _, seed := range []string{
		"_INBOX.abc.1", "_R_.xyz", "$JS.API.STREAM.DELETE.HOLDFAST_0", "holdfast.acquire.a", "holdfast", "holdfastx",
		"a..b", "a.>", "*", "a b", "é.b",
		"a\u2003b", "a.\u00a0", strings.Repeat("a", messages.MaxReplyBytes+1),
	} {
		target.Add(seed)
	}
	target.Fuzz(func(t *testing.T, subject string) {
		err := messages.DefaultPrefix.CheckReply(subject)
		if err != nil {
			checkInvalid(t, err)
			return
		}
		levels := strings.Split(subject, ".")
		for _, level := range levels {
			if level == "" || level == "*" || level == ">" || strings.ContainsAny(level, " \t\r\n\x00") {
				t.Errorf("%q is accepted", subject)
			}
		}
		if levels[0] == "holdfast" || subject[0] == '$' || len(subject) > messages.MaxReplyBytes {
			t.Errorf("%q is accepted", subject)
		}
	})
}

func FuzzCursor(f *testing.F) {
	target := blindtest.New(f)
	for _, seed := range []string{"", "orders.42", "a\n7", "a\n07", "a\n900000000000001", "\n1", "a\nb\n1", "e\u0301"} {
		target.Add(seed)
	}
	target.Fuzz(func(t *testing.T, s string) {
		c, err := messages.ParseCursor(s)
		if err != nil {
			checkInvalid(t, err)
			return
		}
		if c.String() != s || c.Token > messages.MaxToken {
			t.Errorf("%q is read as %+v", s, c)
		}
	})
}

func FuzzEventID(f *testing.F) {
	target := blindtest.New(f)
	for _, seed := range []string{"0.1.0", "7.18446744073709551615.4294967295", "01.1.0", "+1.1.1", "1.1", "1.1.1.1",
		"4294967296.1.1"} {
		target.Add(seed)
	}
	target.Fuzz(func(t *testing.T, s string) {
		id, err := messages.ParseEventID(s)
		if err != nil {
			checkInvalid(t, err)
			return
		}
		if id.String() != s {
			t.Errorf("%q is read as %v", s, id)
		}
	})
}

// A claim that is read from headers is the only one in them, and is written as it was read.
func FuzzClaim(f *testing.F) {
	target := blindtest.New(f)
	target.Add("Fencing-Token", "000000000000005", "Fencing-Resource", "orders.42")
	target.Add("fencing-token ", "000000000000005", "FENCING-TOKEN", "000000000000006")
	target.Add("Fencing-Resource", "a", "fencing-resource", "b")
	target.Add("Fencing-Token", "000000000000005", "X", " a ")
	target.Fuzz(func(t *testing.T, name, value, otherName, otherValue string) {
		h := map[string][]string{name: {value}}
		h[otherName] = append(h[otherName], otherValue)
		c, ok, err := messages.ClaimFromHeader(h)
		switch {
		case err != nil:
			checkInvalid(t, err)
			return
		case !ok || c.Check() != nil || strings.TrimSpace(c.Resource) != c.Resource:
			return
		}
		again := map[string][]string{}
		if err := c.SetHeader(again); err != nil {
			t.Fatal(err)
		}
		if back, ok, err := messages.ClaimFromHeader(again); err != nil || !ok || back != c {
			t.Errorf("%+v is read back as %+v, %v", c, back, err)
		}
	})
}

// A context that is read is written as a traceparent of the same spans, and keeps a bounded state.
func FuzzTraceContext(f *testing.F) {
	target := blindtest.New(f)
	for _, parent := range []string{traceparent, "cc" + traceparent[2:] + "-1", "ff" + traceparent[2:],
		strings.ToUpper(traceparent), traceparent[:54] + "0"} {
		target.Add(parent, "a=1")
	}
	target.Add(traceparent, strings.Repeat("x", messages.MaxTracestateBytes+1))
	target.Fuzz(func(t *testing.T, parent, state string) {
		c, ok := messages.ParseTraceContext(parent)
		if !ok {
			if c != (messages.TraceContext{}) {
				t.Errorf("%q: %+v", parent, c)
			}
			return
		}
		if again, ok := messages.ParseTraceContext(c.Traceparent()); !ok || again != c || c.Traceparent()[2:53] != parent[2:53] {
			t.Errorf("%q is read as %+v, and again as %+v", parent, c, again)
		}
		if len(c.WithState(state).State) > messages.MaxTracestateBytes {
			t.Errorf("%d bytes of state", len(state))
		}
	})
}

// The id of a session is bounded.
func FuzzSession(f *testing.F) {
	target := blindtest.New(f)
	for _, seed := range []string{"0123456789abcdef", "=1F0123456789abcdef", "x",
		strings.Repeat("a", messages.MaxSessionBytes+1)} {
		target.Add(seed)
	}
	target.Fuzz(func(t *testing.T, key string) {
		id, err := messages.DecodeSession(key)
		if err != nil {
			checkInvalid(t, err)
			return
		}
		if len(id) < messages.MinSessionBytes || len(id) > messages.MaxSessionBytes {
			t.Errorf("a session of %d bytes", len(id))
		}
	})
}

// An answer of any bytes is refused or read, and is written and read again.
func FuzzDecodeReply(f *testing.F) {
	target := blindtest.New(f)
	answers := []func() proto.Message{
		func() proto.Message { return &messages.Reply{} }, func() proto.Message { return &messages.BatchReply{} },
		func() proto.Message { return &messages.ListReply{} }, func() proto.Message { return &messages.Info{} },
		func() proto.Message { return &messages.Event{} },
	}
	held := &messages.Reply{Status: messages.Status_HELD, Lease: &messages.Lease{Resource: "a", Owner: "b", Token: 5},
		Waiting: 2, Error: "x"}
	for _, m := range []proto.Message{
		held, &messages.BatchReply{Answers: []*messages.Answer{{Id: 7, Reply: held}}},
		&messages.ListReply{Leases: []*messages.Lease{held.Lease}, Next: "a"},
		&messages.Info{Version: "v1", Shards: 8}, &messages.Event{Kind: messages.Event_ACQUIRED, Lease: held.Lease},
	} {
		for i := range answers {
			target.Add(byte(i), mustEncode(f, messages.Protobuf, m))
			target.Add(byte(i), mustEncode(f, messages.JSON, m))
		}
	}
	target.Fuzz(func(t *testing.T, which byte, payload []byte) {
		m := answers[int(which)%len(answers)]()
		if err := messages.DecodeReply(messages.EncodingOf("", payload), payload, m); err != nil {
			checkInvalid(t, err)
			return
		}
		m.ProtoReflect().SetUnknown(nil)
		again := m.ProtoReflect().New().Interface()
		if err := messages.DecodeReply(messages.Protobuf, mustEncode(t, messages.Protobuf, m), again); err != nil || !proto.Equal(again, m) {
			t.Errorf("%v becomes %v, %v", m, again, err)
		}
	})
}
