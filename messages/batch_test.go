package messages_test

import (
	"bytes"
	"fmt"
	"math"
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"pgregory.net/rapid"

	"github.com/holdfast-io/holdfast/messages"
	"github.com/holdfast-io/holdfast/messages/blindtest"
)

// A batch splits into its calls in both encodings.
func TestSplitBatch(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b := &messages.Batch{Calls: rapid.SliceOfN(calls(), 1, 8).Draw(t, "calls")}
		for _, e := range []messages.Encoding{messages.Protobuf, messages.JSON} {
			payload := mustEncode(t, e, b)
			if again := messages.EncodingOf("", payload); again != e {
				t.Fatalf("%q passes for %v", payload, again)
			}
			got, err := messages.SplitBatch(e, payload)
			if err != nil {
				t.Fatalf("%v: %v", e, err)
			}
			wantSplit(t, e, got, b)
		}
	})
}

// What AppendCall writes is a batch to any reader of protobuf.
func TestAppendCall(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := &messages.Batch{Calls: rapid.SliceOfN(calls(), 1, 8).Draw(t, "calls")}
		var payload []byte
		for _, c := range want.GetCalls() {
			op, request := requestOf(c)
			payload = messages.AppendCall(payload, c.GetId(), c.GetKey(), op, mustEncode(t, messages.Protobuf, request))
		}
		got := &messages.Batch{}
		if err := proto.Unmarshal(payload, got); err != nil || !proto.Equal(got, want) {
			t.Fatalf("got  %v, %v\nwant %v", got, err, want)
		}
		split, err := messages.SplitBatch(messages.Protobuf, payload)
		if err != nil {
			t.Fatal(err)
		}
		wantSplit(t, messages.Protobuf, split, want)
	})
}

func TestBatchOfTheLargestRequests(t *testing.T) {
	b := &messages.Batch{}
	for i := range messages.MaxBatchCalls {
		b.Calls = append(b.Calls, &messages.Call{
			Id: math.MaxUint64 - uint64(i), Key: strings.Repeat("k", messages.MaxResourceBytes),
			Operation: &messages.Call_Acquire{Acquire: largestAcquire()},
		})
	}
	for _, e := range []messages.Encoding{messages.Protobuf, messages.JSON} {
		got, err := messages.SplitBatch(e, mustEncode(t, e, b))
		if err != nil {
			t.Fatalf("%v: %v", e, err)
		}
		wantSplit(t, e, got, b)
	}
}

// The payload of a call is part of the batch: who appends to it must not write over the next call.
func TestPayloadsDoNotOverlap(t *testing.T) {
	payload := appendGets(nil, 2)
	before := bytes.Clone(payload)
	got, err := messages.SplitBatch(messages.Protobuf, payload)
	if err != nil {
		t.Fatal(err)
	}
	_ = append(got[0].Payload, "written over"...)
	if !bytes.Equal(payload, before) {
		t.Errorf("the batch became %q", payload)
	}
}

// A batch that cannot be decoded is refused as a whole.
func TestIllegalBatch(t *testing.T) {
	whole := appendGets(nil, 1)
	for _, tc := range []struct {
		payload string
		want    string
	}{
		{"", `calls: 1 to 1000, got 0`},
		{string(appendGets(nil, 1001)), `calls: 1 to 1000, got 1001`},
		{string(appendGets(nil, 1002)), `calls: 1 to 1000, got more`},
		{string(appendGets(nil, 5000)), `calls: 1 to 1000, got more`},
		{string(whole) + "\x12\x00", `payload: Batch in protobuf, got unknown field 2`},
		{string(whole) + "\x08\x01", `payload: Batch in protobuf, got unknown field 1`},
		{string(whole) + "\x0d1234", `payload: Batch in protobuf, got unknown field 1`},
		{string(whole) + "\x0b\x0c", `payload: Batch in protobuf, got unknown field 1`},
		{string(whole) + "\x0a", notBatch},
		{string(whole) + "\x0a\x05\x08", notBatch},
		{string(whole) + "\x00", notBatch},
		{string(whole) + "\x80", notBatch},
		{"not a batch", `payload: Batch in protobuf, got unknown field 13`},
	} {
		got, err := messages.SplitBatch(messages.Protobuf, []byte(tc.payload))
		wantInvalid(t, err, tc.want)
		if got != nil {
			t.Errorf("%q: %d calls beside the error", tc.payload[:min(len(tc.payload), 50)], len(got))
		}
	}
}

const notBatch = `payload: Batch in protobuf, or in JSON, which begins with "{"`

// A batch that was cut off is refused, or has the calls before the cut.
func TestTruncatedBatch(t *testing.T) {
	var ends []int
	var payload []byte
	for i := range 3 {
		payload = messages.AppendCall(payload, uint64(i), "orders.42", messages.OpAcquire,
			mustEncode(t, messages.Protobuf, largestAcquire()))
		ends = append(ends, len(payload))
	}
	for cut := range payload {
		got, err := messages.SplitBatch(messages.Protobuf, payload[:cut])
		switch {
		case cut == ends[0] || cut == ends[1]:
			if err != nil || len(got) != 1 && len(got) != 2 || got[len(got)-1].Err != nil {
				t.Fatalf("cut at %d: %d calls, %v", cut, len(got), err)
			}
		case err == nil:
			t.Fatalf("cut at %d, in the midst of a call: %d calls", cut, len(got))
		default:
			checkInvalid(t, err)
		}
	}
}

// A call that breaks a rule is refused on its own, under its id if that came before.
func TestIllegalCall(t *testing.T) {
	const (
		id  = "\x08\x07"
		key = "\x12\x01k"
		get = "\x32\x00"
	)
	for _, tc := range []struct {
		call   string
		wantID uint64
		want   string
	}{
		{id + key, 7, `call: one operation of [acquire release extend get break confirm keep end set], got none`},
		{id + get, 7, `key: a resource or a session, encoded as in a subject, got none`},
		{id + "\x12\x00" + get, 7, `key: a resource or a session, encoded as in a subject, got none`},
		{"", 0, `call: one operation of [acquire release extend get break confirm keep end set], got none`},
		{id + key + get + get, 7, `call: one operation, got get and get`},
		{id + key + get + "\x22\x00", 7, `call: one operation, got get and release`},
		{id + key + get + "\x62\x00", 7, `payload: Call in protobuf, got unknown field 12`},
		{"\x62\x00" + id + key + get, 0, `payload: Call in protobuf, got unknown field 12`},
		{id + key + get + "\x48\x01", 7, `payload: Call in protobuf, got unknown field 9`},
		{id + "\x0a\x00" + key + get, 7, `payload: Call in protobuf, got unknown field 1`},
		{id + "\x10\x01" + get, 7, `payload: Call in protobuf, got unknown field 2`},
		{id + key + "\x30\x00", 7, `payload: Call in protobuf, got unknown field 6`},
		{id + key + "\x35\x00\x00\x00\x00", 7, `payload: Call in protobuf, got unknown field 6`},
		{id + key + get[:1], 7, notBatch},
		{id + key + "\x32\x05x", 7, notBatch},
		{"\x08", 0, notBatch},
	} {
		payload := appendGets(nil, 1)
		payload = protowire.AppendString(append(payload, '\x0a'), tc.call)
		payload = appendGets(payload, 1)
		got, err := messages.SplitBatch(messages.Protobuf, payload)
		if err != nil || len(got) != 3 {
			t.Errorf("%q: %d calls, %v; want 3", tc.call, len(got), err)
			continue
		}
		wantInvalid(t, got[1].Err, tc.want)
		if got[1].ID != tc.wantID {
			t.Errorf("%q: refused under the id %d, want %d", tc.call, got[1].ID, tc.wantID)
		}
		for _, i := range []int{0, 2} {
			if c := got[i]; c.Err != nil || c.ID != 0 || c.Key != "k0" || c.Operation != messages.OpGet {
				t.Errorf("%q beside it: %+v", tc.call, c)
			}
		}
	}
}

// A call without operation or key is refused on its own in JSON too.
func TestIllegalCallInJSON(t *testing.T) {
	got, err := messages.SplitBatch(messages.JSON, []byte(
		` {"calls":[{"id":1,"key":"k","get":{}},{"id":"2","key":"k"},{"id":3,"get":{}},{},{"id":5,"key":"k","get":null}]}`))
	if err != nil || len(got) != 5 {
		t.Fatalf("%d calls, %v", len(got), err)
	}
	if c := got[0]; c.Err != nil || c.ID != 1 || c.Key != "k" || c.Operation != messages.OpGet ||
		string(c.Payload) != `{}` {
		t.Errorf("the legal call: %+v", c)
	}
	const noOperation = `call: one operation of [acquire release extend get break confirm keep end set], got none`
	for i, want := range []string{noOperation, `key: a resource or a session, encoded as in a subject, got none`,
		noOperation, noOperation} {
		c := got[i+1]
		wantInvalid(t, c.Err, want)
		if i != 2 && c.ID != uint64(i+2) {
			t.Errorf("call %d is refused under the id %d", i+2, c.ID)
		}
	}
}

// JSON is decoded as a whole, so that an illegal word or type in one call makes the batch illegal.
func TestIllegalBatchInJSON(t *testing.T) {
	for payload, want := range map[string]string{
		`{}`:                        `calls: 1 to 1000, got 0`,
		`{"calls":null}`:            `calls: 1 to 1000, got 0`,
		`{"calls":[]}`:              `calls: 1 to 1000, got 0`,
		jsonCalls(1001, `"get":{}`): `calls: 1 to 1000, got 1001`,
		jsonCalls(2,
			`"acquire":{"owner":"a","ttlMs":1000}`): `payload: AcquireRequest in JSON: unknown field "ttlMs"`,
		jsonCalls(2, `"acquire":{"owner":"a","ttl_ms":"1000"}`): `ttl_ms: a number, without quotes, got "\"1000\""`,
		jsonCalls(1, `"extend":{"owner":"a","ttl_ms":"1000"}`):  `ttl_ms: a number, without quotes, got "\"1000\""`,
		jsonCalls(1,
			`"acquire":{"owner":"a","requestId":"x"}`): `payload: AcquireRequest in JSON: unknown field "requestId"`,
	} {
		got, err := messages.SplitBatch(messages.JSON, []byte(payload))
		wantInvalid(t, err, want)
		if got != nil {
			t.Errorf("%s: %d calls beside the error", payload[:min(len(payload), 80)], len(got))
		}
	}
	for _, payload := range []string{
		`{"calls":[{"id":1,"key":"k","get":{}}],"more":1}`, `{"Calls":[]}`, `{"calls":{}}`, `{"calls":[null]}`,
		`{"calls":[[]]}`,
		`{"calls":[{"id":1,"key":"k","get":{},"colour":1}]}`, `{"calls":[{"id":1.5,"key":"k","get":{}}]}`,
		`{"calls":[{"id":-1,"key":"k","get":{}}]}`, `{"calls":[{"id":1,"id":1,"key":"k","get":{}}]}`,
		`{"calls":[{"id":1,"key":"k","get":{},"break":{}}]}`, `{"calls":[{"id":1,"key":"k","get":[]}]}`,
		`{"calls":[{"id":1,"key":"k","lock":{}}]}`, `{"calls":[{"id":1,"key":"k","get":{}}]`, `{"calls":[]} x`, `{`,
		`[]`, `null`, `x`,
		"{\"calls\":[{\"id\":1,\"key\":\"\xff\",\"get\":{}}]}", strings.Repeat("[", 1000),
		`{"calls":[{"get":` + strings.Repeat(`{"get":`, 1000),
	} {
		got, err := messages.SplitBatch(messages.JSON, []byte(payload))
		checkInvalid(t, err)
		if got != nil {
			t.Errorf("%s: %d calls beside the error", payload[:min(len(payload), 80)], len(got))
		}
	}
}

// Words and types are checked at each depth: in lists, in messages, but not in maps, whose names are the client's.
func TestWordsWithinMessages(t *testing.T) {
	for payload, want := range map[string]string{
		`{"calls":[{"key":"k","acquire":{"ttl_ms":"1"}}]}`:           `ttl_ms: a number, without quotes, got "\"1\""`,
		`{"calls":[{"key":"k","acquire":{"waitMs":1}}]}`:             `payload: AcquireRequest in JSON: unknown field "waitMs"`,
		`{"calls":[{"key":"a","get":{}},{"extend":{"ttlMs":1}}]}`:    `payload: ExtendRequest in JSON: unknown field "ttlMs"`,
		`{"calls":[{"key":"a","get":{}},{"break":{"token":"1"}}]}`:   "",
		`{"calls":[{"acquire":{"metadata":{"ttlMs":"1","": "x"}}}]}`: "",
		`{"calls":[{"acquire":{"metadata":null,"ttl_ms":null}}]}`:    "",
		`{"calls":[{"acquire":null}]}`:                               "",
		`{"calls":null}`:                                             "",
	} {
		err := messages.Decode(messages.JSON, []byte(payload), &messages.Batch{})
		if want != "" {
			wantInvalid(t, err, want)
		} else if err != nil {
			t.Errorf("%s: %v", payload, err)
		}
	}
}

// Any bytes split into something or are refused. What splits is the batch that other readers of protobuf see.
func FuzzSplitBatch(f *testing.F) {
	target := blindtest.New(f)
	whole := &messages.Batch{Calls: []*messages.Call{
		{Id: 1, Key: "a", Operation: &messages.Call_Acquire{Acquire: largestAcquire()}},
		{Id: 2, Key: "b", Operation: &messages.Call_Release{Release: largestRelease()}},
		{Id: 3, Key: "c", Operation: &messages.Call_Extend{Extend: largestExtend()}},
		{Id: 4, Key: "d", Operation: &messages.Call_Get{Get: &messages.GetRequest{Stale: true}}},
		{Id: 5, Key: "e", Operation: &messages.Call_Break{Break: largestBreak()}},
	}}
	for _, e := range []messages.Encoding{messages.Protobuf, messages.JSON} {
		target.Add(mustEncode(f, e, whole))
	}
	target.Add([]byte{})
	target.Add([]byte("\x0a\x00"))
	target.Add([]byte("\x0a\x05\x08"))
	target.Add([]byte("\x0a\x07\x08\x07\x32\x00\x32\x00"))
	target.Add([]byte(`{"calls":[{"id":"1","key":"k","acquire":{"owner":"a","ttl_ms":1000}},{}]}`))
	target.Add([]byte(`{"calls":[{"acquire":{"ttlMs":1}}]}`))
	target.Fuzz(func(t *testing.T, payload []byte) {
		e := messages.EncodingOf("", payload)
		split, err := messages.SplitBatch(e, payload)
		if err != nil {
			checkInvalid(t, err)
			return
		}
		if len(split) == 0 || len(split) > messages.MaxBatchCalls {
			t.Fatalf("%d calls", len(split))
		}
		want := &messages.Batch{}
		if e == messages.Protobuf && proto.Unmarshal(payload, want) != nil {
			return // a key that is not UTF-8 or a request, which are decoded later
		}
		for i, c := range split {
			if c.Err != nil {
				checkInvalid(t, c.Err)
				continue
			}
			request := messages.NewRequest(c.Operation)
			if request == nil || c.Key == "" {
				t.Fatalf("call %d: %+v", i, c)
			}
			err := messages.Decode(e, c.Payload, request)
			if err != nil {
				checkInvalid(t, err)
			}
			if err != nil || e == messages.JSON {
				continue
			}
			if op, r := requestOf(want.GetCalls()[i]); op != c.Operation || !proto.Equal(r, request) {
				t.Errorf("call %d is %s %v, others read %s %v", i, c.Operation, request, op, r)
			}
			if w := want.GetCalls()[i]; w.GetId() != c.ID || w.GetKey() != c.Key {
				t.Errorf("call %d has id %d and key %q, others read %d and %q", i, c.ID, c.Key, w.GetId(), w.GetKey())
			}
		}
	})
}

// wantSplit fails unless the calls are those of the batch, and their payloads its requests.
func wantSplit(t fataler, e messages.Encoding, got []messages.SplitCall, want *messages.Batch) {
	t.Helper()
	if len(got) != len(want.GetCalls()) {
		t.Fatalf("%v: %d calls, want %d", e, len(got), len(want.GetCalls()))
	}
	for i, w := range want.GetCalls() {
		op, request := requestOf(w)
		c := got[i]
		if c.Err != nil || c.ID != w.GetId() || c.Key != w.GetKey() || c.Operation != op {
			t.Fatalf("%v: call %d is %+v, want %v", e, i, c, w)
		}
		decoded := messages.NewRequest(c.Operation)
		if err := messages.Decode(e, c.Payload, decoded); err != nil || !proto.Equal(decoded, request) {
			t.Fatalf("%v: the request of call %d is %v, %v; want %v", e, i, decoded, err, request)
		}
	}
}

// requestOf returns the operation and the request of a call, as reflection finds them.
func requestOf(c *messages.Call) (messages.Operation, proto.Message) {
	m := c.ProtoReflect()
	f := m.WhichOneof(m.Descriptor().Oneofs().ByName("operation"))
	if f == nil {
		return "", nil
	}
	return messages.Operation(f.Name()), m.Get(f).Message().Interface()
}

// calls generates calls that break no rule of calls. Their requests and keys may break others.
func calls() *rapid.Generator[*messages.Call] {
	return rapid.Custom(func(t *rapid.T) *messages.Call {
		c := &messages.Call{
			Id:  rapid.Uint64().Draw(t, "id"),
			Key: rapid.StringN(1, 20, -1).Draw(t, "key"),
		}
		owner, token := rapid.StringN(0, 10, -1), rapid.Uint64()
		switch op := rapid.SampledFrom(messages.Operations).Draw(t, "operation"); op {
		case messages.OpAcquire:
			c.Operation = &messages.Call_Acquire{Acquire: &messages.AcquireRequest{
				Owner: owner.Draw(t, "owner"), TtlMs: rapid.Uint32().Draw(t, "ttl_ms"),
				WaitMs:    rapid.Uint32().Draw(t, "wait_ms"),
				RequestId: owner.Draw(t, "request_id"), Reentrant: rapid.Bool().Draw(t, "reentrant"),
				Durability: messages.Durability(rapid.IntRange(0, 1).Draw(t, "durability")),
				Metadata:   rapid.MapOfN(owner, owner, 0, 3).Draw(t, "metadata"),
			}}
		case messages.OpRelease:
			c.Operation = &messages.Call_Release{Release: &messages.ReleaseRequest{
				Owner: owner.Draw(t, "owner"), Token: token.Draw(t, "token"), RequestId: owner.Draw(t, "request_id"),
			}}
		case messages.OpExtend:
			c.Operation = &messages.Call_Extend{Extend: &messages.ExtendRequest{
				Owner: owner.Draw(t, "owner"), Token: token.Draw(t, "token"), TtlMs: rapid.Uint32().Draw(t, "ttl_ms"),
				Session: owner.Draw(t, "session"),
			}}
		case messages.OpGet:
			c.Operation = &messages.Call_Get{Get: &messages.GetRequest{Stale: rapid.Bool().Draw(t, "stale")}}
		case messages.OpBreak:
			c.Operation = &messages.Call_Break{Break: &messages.BreakRequest{
				Token: token.Draw(t, "token"), Reason: owner.Draw(t, "reason"),
			}}
		case messages.OpConfirm:
			c.Operation = &messages.Call_Confirm{Confirm: &messages.ConfirmRequest{
				Token: token.Draw(t, "token"), By: owner.Draw(t, "by"), How: owner.Draw(t, "how"),
			}}
		case messages.OpKeep:
			c.Operation = &messages.Call_Keep{Keep: &messages.KeepRequest{
				TtlMs: rapid.Uint32().Draw(t, "ttl_ms"), Alive: owner.Draw(t, "alive"),
				DisconnectMs: rapid.Uint32().Draw(t, "disconnect_ms"),
			}}
		case messages.OpEnd:
			c.Operation = &messages.Call_End{End: &messages.EndRequest{
				Orphan: rapid.Bool().Draw(t, "orphan"), Secret: rapid.SliceOfN(rapid.Byte(), 0, 4).Draw(t, "secret"),
			}}
		case messages.OpSet:
			c.Operation = &messages.Call_Set{Set: &messages.SetRequest{
				Owner: owner.Draw(t, "owner"), Token: token.Draw(t, "token"),
				Metadata: rapid.MapOfN(owner, owner, 0, 3).Draw(t, "metadata"),
			}}
		default:
			t.Fatalf("no call of %s", op)
		}
		return c
	})
}

// appendGets appends gets of k0, k1 and so on, with the same ids.
func appendGets(batch []byte, n int) []byte {
	for i := range n {
		batch = messages.AppendCall(batch, uint64(i), fmt.Sprint("k", i), messages.OpGet, nil)
	}
	return batch
}

// jsonCalls returns a batch whose last call has this operation, and whose others are gets.
func jsonCalls(n int, last string) string {
	list := make([]string, 0, n)
	for i := range n {
		op := `"get":{}`
		if i == n-1 {
			op = last
		}
		list = append(list, fmt.Sprintf(`{"id":%d,"key":"k",%s}`, i, op))
	}
	return `{"calls":[` + strings.Join(list, ",") + `]}`
}
