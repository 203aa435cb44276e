package messages_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"pgregory.net/rapid"

	"github.com/holdfast-io/holdfast/messages"
	"github.com/holdfast-io/holdfast/messages/blindtest"
)

func TestEncodingOf(t *testing.T) {
	for _, tc := range []struct {
		contentType, payload string
		want                 messages.Encoding
	}{
		{"", "", messages.JSON},
		{"", "{}", messages.JSON},
		{"", "\x0a\x01a", messages.Protobuf},
		{"", " {}", messages.JSON},
		{"", "\r\n\t {}", messages.JSON},
		{"", " {", messages.JSON},
		{"", " ", messages.Protobuf},
		{"", "\n{" + strings.Repeat("x", '{'), messages.Protobuf}, // an owner of 123 bytes
		{"application/json", "\x0a\x01a", messages.JSON},
		{"application/json", " {}", messages.JSON},
		{"Application/JSON; charset=utf-8", "x", messages.JSON},
		{" application/json ;q=1", "x", messages.JSON},
		{"application/protobuf", "\x0a\x01a", messages.Protobuf},
		{"application/protobuf", "{}", messages.JSON},
		{"application/json5", "x", messages.Protobuf},
		{"text/plain; a=application/json", "x", messages.Protobuf},
	} {
		if got := messages.EncodingOf(tc.contentType, []byte(tc.payload)); got != tc.want {
			t.Errorf("EncodingOf(%q, %q) = %v, want %v", tc.contentType, tc.payload, got, tc.want)
		}
	}
}

// Only then does the first byte distinguish the encodings.
func TestNoMessageBeginsLikeJSON(t *testing.T) {
	known := (&messages.Reply{}).ProtoReflect().Descriptor().ParentFile().Messages()
	number, form := protowire.DecodeTag('{')
	if form != protowire.StartGroupType {
		t.Fatalf("the byte begins a field of type %d", form)
	}
	for i := range known.Len() {
		if f := known.Get(i).Fields().ByNumber(number); f != nil && f.Kind() == protoreflect.GroupKind {
			t.Errorf("%s has a group with the number %d", known.Get(i).Name(), number)
		}
	}
}

func TestEncodingString(t *testing.T) {
	if got := fmt.Sprint(messages.Protobuf, messages.JSON); got != "protobuf json" {
		t.Error(got)
	}
}

func TestNewRequest(t *testing.T) {
	for op, want := range map[messages.Operation]proto.Message{
		messages.OpAcquire: &messages.AcquireRequest{},
		messages.OpRelease: &messages.ReleaseRequest{},
		messages.OpExtend:  &messages.ExtendRequest{},
		messages.OpGet:     &messages.GetRequest{},
		messages.OpBreak:   &messages.BreakRequest{},
	} {
		if got := messages.NewRequest(op); got == nil || !proto.Equal(got, want) {
			t.Errorf("NewRequest(%q) is a %T", op, got)
		}
	}
	for _, op := range messages.Operations {
		if got := messages.NewRequest(op); got == nil {
			t.Errorf("NewRequest(%q) is nil", op)
		} else if messages.OperationOf(got) != op {
			t.Errorf("OperationOf(%T) is %q, want %q", got, messages.OperationOf(got), op)
		}
	}
	if got := messages.NewRequest("lock"); got != nil {
		t.Errorf("NewRequest of no operation is a %T", got)
	}
}

func TestEncodeJSON(t *testing.T) {
	lease := &messages.Lease{
		Resource: "a b", Owner: "<me>", Token: 5, Fence: "000000000000005", TtlMs: 30_000, RemainingMs: 1,
		AcquiredAtMs: 1_700_000_000_000, Durability: messages.Durability_EPHEMERAL,
		Metadata: map[string]string{"b": "2 2", "a": "1\n"},
	}
	for want, m := range map[string]proto.Message{
		`{}`:                            &messages.GetRequest{},
		`{"status":"HELD","waiting":2}`: &messages.Reply{Status: messages.Status_HELD, Waiting: 2},
		`{"kind":"BROKEN","lease":{"resource":"a b","owner":"<me>","token":"5","fence":"000000000000005",` +
			`"ttl_ms":30000,"remaining_ms":1,"acquired_at_ms":"1700000000000","durability":"EPHEMERAL",` +
			`"metadata":{"a":"1\n","b":"2 2"}},"position":"7"}`: &messages.Event{
			Kind: messages.Event_BROKEN, Lease: lease, Position: 7,
		},
	} {
		got, err := messages.Encode(messages.JSON, m)
		if err != nil || string(got) != want {
			t.Errorf("got  %s, %v\nwant %s", got, err, want)
		}
		if e := messages.EncodingOf("", got); e != messages.JSON {
			t.Errorf("%s passes for %v", got, e)
		}
	}
}

func TestEncodeIsDeterministic(t *testing.T) {
	for _, e := range []messages.Encoding{messages.Protobuf, messages.JSON} {
		first := mustEncode(t, e, largestAcquire())
		for range 50 {
			if again := mustEncode(t, e, largestAcquire()); !bytes.Equal(again, first) {
				t.Fatalf("%v: the same request in other bytes", e)
			}
		}
	}
}

func TestEncodeOfWhatIsNotUTF8(t *testing.T) {
	for _, e := range []messages.Encoding{messages.Protobuf, messages.JSON} {
		if got, err := messages.Encode(e, &messages.Reply{Error: "\xff"}); err == nil {
			t.Errorf("%v: %q", e, got)
		}
	}
}

func TestDecode(t *testing.T) {
	want := &messages.AcquireRequest{
		Owner: "me", TtlMs: 30_000, Durability: messages.Durability_EPHEMERAL, Metadata: map[string]string{"k": "v"},
	}
	for name, tc := range map[string]struct {
		encoding messages.Encoding
		payload  string
	}{
		"protobuf": {messages.Protobuf, string(mustEncode(t, messages.Protobuf, want))},
		"contract's names": {messages.JSON,
			`{"owner":"me","ttl_ms":30000,"durability":"EPHEMERAL","metadata":{"k":"v"}}`},
		"standard mapping": {messages.JSON, `{"owner":"me","ttl_ms":30000,"durability":1,"metadata":{"k":"v"}}`},
		"whole as float": {messages.JSON,
			`{"owner":"me","ttl_ms":3.0e4,"durability":1,"metadata":{"k":"v"},"wait_ms":null}`},
		"white space": {messages.JSON,
			"\n{ \"owner\" : \"me\",\t\"ttl_ms\":30000,\"durability\":1,\"metadata\":{\"k\":\"v\"}}\r\n"},
		"escapes": {messages.JSON,
			`{"\u006fwner":"\u006de","ttl_ms":30000,"durability":1,"metadata":{"k":"v"}}`},
	} {
		got := &messages.AcquireRequest{Owner: "before", Reentrant: true}
		if err := messages.Decode(tc.encoding, []byte(tc.payload), got); err != nil || !proto.Equal(got, want) {
			t.Errorf("%s: %v, %v", name, got, err)
		}
	}
}

func TestDecodeNothing(t *testing.T) {
	for _, e := range []messages.Encoding{messages.Protobuf, messages.JSON} {
		got := &messages.ReleaseRequest{Owner: "before"}
		if err := messages.Decode(e, nil, got); err != nil || !proto.Equal(got, &messages.ReleaseRequest{}) {
			t.Errorf("%v: %v, %v", e, got, err)
		}
	}
}

// The standard mapping allows more than the contract: other field names, and 32-bit numbers as text. 64-bit
// numbers may be text.
func TestDecodeTakesTheContractsJSON(t *testing.T) {
	for payload, want := range map[string]string{
		`{"owner":"a","ttl_ms":"1000"}`: `ttl_ms: a number, without quotes, got "\"1000\""`,
		`{"owner":"a","ttlMs":1000}`:    `payload: AcquireRequest in JSON: unknown field "ttlMs"`,
		`{"requestId":"x"}`:             `payload: AcquireRequest in JSON: unknown field "requestId"`,
	} {
		wantInvalid(t, messages.Decode(messages.JSON, []byte(payload), &messages.AcquireRequest{}), want)
	}
	for _, payload := range []string{`{"owner":"a","token":"5"}`, `{"owner":"a","token":5}`} {
		r := &messages.ReleaseRequest{}
		if err := messages.Decode(messages.JSON, []byte(payload), r); err != nil || r.GetToken() != 5 {
			t.Errorf("%s: %v, %v", payload, r, err)
		}
	}
	if err := messages.DecodeReply(messages.JSON, []byte(`{"lease":{"ttlMs":"5"}}`), &messages.Reply{}); err != nil {
		t.Error(err) // what nodes say is read as generously as ever
	}
}

func TestDecodeRefusesJSON(t *testing.T) {
	const owner = `{"owner":"a",`
	deep := strings.Repeat("[", 10_000)
	for name, tc := range map[string]struct{ payload, want string }{
		"unknown field":    {`{"ttl":5}`, `unknown field "ttl" (line 1, column 2)`},
		"resource":         {`{"resource":"a"}`, `unknown field "resource" (line 1, column 2)`},
		"other case":       {`{"Owner":"a"}`, `unknown field "Owner" (line 1, column 2)`},
		"duplicate":        {owner + `"owner":"b"}`, `duplicate field "owner" (line 1, column 14)`},
		"duplicate null":   {`{"owner":null,"owner":"b"}`, `duplicate field "owner" (line 1, column 15)`},
		"two spellings":    {`{"ttl_ms":1000,"ttlMs":1}`, `duplicate field "ttlMs" (line 1, column 16)`},
		"duplicate key":    {`{"metadata":{"k":"1","k":"2"}}`, `duplicate map key "k" (line 1, column 22)`},
		"fraction":         {`{"ttl_ms":0.5}`, `invalid value for uint32 field ttl_ms: 0.5 (line 1, column 11)`},
		"fraction as text": {`{"ttl_ms":"0.5"}`, `invalid value for uint32 field ttl_ms: "0.5" (line 1, column 11)`},
		"negative":         {`{"ttl_ms":-1}`, `invalid value for uint32 field ttl_ms: -1 (line 1, column 11)`},
		"1e400":            {`{"ttl_ms":1e400}`, `invalid value for uint32 field ttl_ms: 1e400 (line 1, column 11)`},
		"2^32": {`{"ttl_ms":4294967296}`,
			`invalid value for uint32 field ttl_ms: 4294967296 (line 1, column 11)`},
		"text for number": {`{"ttl_ms":"soon"}`, `invalid value for uint32 field ttl_ms: "soon" (line 1, column 11)`},
		"number for text": {`{"owner":5}`, `invalid value for string field owner: 5 (line 1, column 10)`},
		"text for bool": {`{"reentrant":"true"}`,
			`invalid value for bool field reentrant: "true" (line 1, column 14)`},
		"unknown enum": {`{"durability":"SOLID"}`,
			`invalid value for enum field durability: "SOLID" (line 1, column 15)`},
		"list for map": {`{"metadata":[]}`, `unexpected token [ (line 1, column 13)`},
		"null in a map": {`{"metadata":{"k":null}}`,
			`invalid value for string field value: null (line 1, column 18)`},
		"trailing bytes":  {`{}x`, `invalid value x (line 1, column 3)`},
		"trailing object": {`{}{}`, `unexpected token { (line 1, column 3)`},
		"trailing comma":  {`{"owner":"a",}`, `unexpected token } (line 1, column 14)`},
		"comment":         {`{/**/}`, `invalid value / (line 1, column 2)`},
		"not an object":   {`[]`, `unexpected token [ (line 1, column 1)`},
		"null":            {`null`, `unexpected token null (line 1, column 1)`},
		"only space":      {` `, `unexpected token  (line 1, column 2)`},
		"NaN":             {`{"ttl_ms":NaN}`, `invalid value NaN (line 1, column 11)`},
		"byte order mark": {"\ufeff{}", `invalid value ? (line 1, column 1)`},
		"not UTF-8":       {"{\"owner\":\"\xff\"}", `invalid UTF-8 in string (line 1, column 10)`},
		"lone surrogate": {`{"owner":"\ud800 and more"}`,
			`invalid escape code " and m" in string (line 1, column 10)`},
		"raw line break":   {"{\"owner\":\"a\nb\"}", `invalid character '\n' in string (line 1, column 10)`},
		"depth of lists":   {deep, `unexpected token [ (line 1, column 1)`},
		"depth in a field": {`{"owner":` + deep, `invalid value for string field owner: [ (line 1, column 10)`},
		"depth of objects": {strings.Repeat(`{"metadata":`, 1000),
			`invalid value for string field value: { (line 1, column 25)`},
	} {
		t.Run(name, func(t *testing.T) {
			err := messages.Decode(messages.JSON, []byte(tc.payload), &messages.AcquireRequest{})
			wantInvalid(t, err, "payload: AcquireRequest in JSON: "+tc.want)
		})
	}
	huge := `{"token":9223372036854775808,"owner":"a"}` // the largest int64 and one more
	got := &messages.ReleaseRequest{}
	if err := messages.Decode(messages.JSON, []byte(huge), got); err != nil || messages.DefaultLimits().Check(got) == nil {
		t.Errorf("%s: %v, and legal", huge, err)
	}
}

func TestDecodeEchoesLittle(t *testing.T) {
	payload := `{"ttl_ms":"` + strings.Repeat("é", 5000) + `"}`
	err := messages.Decode(messages.JSON, []byte(payload), &messages.AcquireRequest{})
	checkInvalid(t, err)
	if n := len(err.Error()); n > 250 {
		t.Errorf("%d bytes: %v", n, err)
	}
}

func TestDecodeRefusesProtobuf(t *testing.T) {
	const rule = `payload: AcquireRequest in protobuf, or in JSON, which begins with "{", got `
	group := strings.Repeat("\x7b", 10_000) // groups within groups
	for name, tc := range map[string]struct{ payload, want string }{
		"cut":             {"\x0a\x05me", `4 bytes that are neither`},
		"text":            {"hello", `5 bytes that are neither`},
		"JSON list":       {"[1]", `3 bytes that are neither`},
		"byte order mark": {"\ufeff{}", `5 bytes that are neither`},
		"not UTF-8":       {"\x0a\x01\xff", `3 bytes that are neither`},
		"depth":           {group, `10000 bytes that are neither`},
		"field 0":         {"\x00\x00", `2 bytes that are neither`},
		"unknown field":   {"\x0a\x02me\xf8\x01\x01", `unknown field 31`},
		"wrong type":      {"\x0a\x02me\x12\x03500", `unknown field 2`},
	} {
		t.Run(name, func(t *testing.T) {
			wantInvalid(t, messages.Decode(messages.Protobuf, []byte(tc.payload), &messages.AcquireRequest{}),
				rule+tc.want)
		})
	}
}

// A truncated payload is refused, or is a request that lacks fields, and is never another request.
func TestDecodeOfCutPayload(t *testing.T) {
	whole := largestAcquire()
	for _, e := range []messages.Encoding{messages.Protobuf, messages.JSON} {
		payload := mustEncode(t, e, whole)
		for n := range payload {
			got := &messages.AcquireRequest{}
			if err := messages.Decode(e, payload[:n], got); err != nil {
				checkInvalid(t, err)
				continue
			}
			if e == messages.JSON && n > 0 {
				t.Fatalf("JSON cut at %d of %d is a request", n, len(payload))
			}
			merged := proto.Clone(got)
			proto.Merge(merged, whole)
			if !proto.Equal(merged, whole) || len(got.GetMetadata()) > len(whole.GetMetadata()) {
				t.Fatalf("cut at %d of %d it is another request: %v", n, len(payload), got)
			}
		}
	}
}

func TestDecodeBoundsThePayload(t *testing.T) {
	for _, e := range []messages.Encoding{messages.Protobuf, messages.JSON} {
		for _, n := range []int{messages.MaxPayloadBytes + 1, 1 << 20} {
			err := messages.Decode(e, bytes.Repeat([]byte(" "), n), &messages.GetRequest{})
			wantInvalid(t, err, fmt.Sprintf("payload: at most 16384 bytes, got %d bytes", n))
		}
	}
	full := []byte("{}" + strings.Repeat(" ", messages.MaxPayloadBytes-2))
	if err := messages.Decode(messages.JSON, full, &messages.GetRequest{}); err != nil {
		t.Error(err)
	}
}

func TestDecodeReply(t *testing.T) {
	list := &messages.ListReply{}
	for range 1000 {
		list.Leases = append(list.Leases, &messages.Lease{Resource: strings.Repeat("a", 500), Token: 1})
	}
	for _, e := range []messages.Encoding{messages.Protobuf, messages.JSON} {
		got := &messages.ListReply{Next: "before"}
		if err := messages.DecodeReply(e, mustEncode(t, e, list), got); err != nil || !proto.Equal(got, list) {
			t.Errorf("%v: a long answer: %v", e, err)
		}
	}
}

// A newer server may send fields that an older client does not know.
func TestDecodeReplyIgnoresUnknownFields(t *testing.T) {
	for e, payload := range map[messages.Encoding]string{
		messages.Protobuf: "\x08\x02\xa0\x06\x01",
		messages.JSON:     `{"status":"HELD","colour":{"is":["red"]}}`,
	} {
		got := &messages.Reply{}
		if err := messages.DecodeReply(e, []byte(payload), got); err != nil || got.GetStatus() != messages.Status_HELD {
			t.Errorf("%v: %v, %v", e, got, err)
		}
		checkInvalid(t, messages.Decode(e, []byte(payload), got))
	}
}

func TestDecodeReplyRefusesNonsense(t *testing.T) {
	for e, payload := range map[messages.Encoding]string{
		messages.Protobuf: "\x08",
		messages.JSON:     `{"lease":` + strings.Repeat(`{"x":`, 1<<20),
	} {
		checkInvalid(t, messages.DecodeReply(e, []byte(payload), &messages.Reply{}))
	}
}

func TestRequestRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		request := &messages.AcquireRequest{
			Owner:      rapid.String().Draw(t, "owner"),
			TtlMs:      rapid.Uint32().Draw(t, "ttl_ms"),
			WaitMs:     rapid.Uint32().Draw(t, "wait_ms"),
			RequestId:  rapid.String().Draw(t, "request_id"),
			Durability: messages.Durability(rapid.IntRange(0, 1).Draw(t, "durability")),
			Reentrant:  rapid.Bool().Draw(t, "reentrant"),
			Metadata:   rapid.MapOfN(rapid.String(), rapid.String(), 0, 4).Draw(t, "metadata"),
		}
		for _, e := range []messages.Encoding{messages.Protobuf, messages.JSON} {
			payload, got := mustEncode(t, e, request), &messages.AcquireRequest{}
			if err := messages.Decode(e, payload, got); err != nil || !proto.Equal(got, request) {
				t.Fatalf("%v: %q becomes %v, %v", e, payload, got, err)
			}
			if again := messages.EncodingOf("", payload); len(payload) > 0 && again != e {
				t.Fatalf("%q passes for %v", payload, again)
			}
		}
	})
}

func FuzzDecodeRequest(f *testing.F) {
	target := blindtest.New(f)
	requests := append(messages.Operations, "list")
	for i := range requests {
		target.Add("", byte(i), []byte{})
		target.Add("", byte(i), []byte(`{"owner":"me","ttl_ms":1000,"token":"5"}`))
		target.Add("application/json", byte(i), []byte(`[[[[`))
	}
	target.Add("", byte(0), mustEncode(f, messages.Protobuf, largestAcquire()))
	target.Add("", byte(0), mustEncode(f, messages.JSON, largestAcquire()))
	target.Add("", byte(1), mustEncode(f, messages.Protobuf, largestRelease()))
	target.Add("", byte(2), mustEncode(f, messages.Protobuf, largestExtend()))
	target.Add("", byte(3), []byte(`{"stale":true}`))
	target.Add("", byte(4), mustEncode(f, messages.Protobuf, largestBreak()))
	target.Add("", byte(5), mustEncode(f, messages.JSON, largestList()))
	target.Add("application/json; x", byte(0), []byte("\ufeff{\"ttl_ms\":1e400}"))
	limits := messages.DefaultLimits()
	target.Fuzz(func(t *testing.T, contentType string, which byte, payload []byte) {
		m := messages.NewRequest(requests[int(which)%len(requests)])
		if m == nil {
			m = &messages.ListRequest{}
		}
		e := messages.EncodingOf(contentType, payload)
		if err := messages.Decode(e, payload, m); err != nil {
			checkInvalid(t, err)
			return
		}
		if err := limits.Check(m); err != nil {
			checkInvalid(t, err)
			return
		}
		for _, e := range []messages.Encoding{messages.Protobuf, messages.JSON} {
			again := m.ProtoReflect().New().Interface()
			if err := messages.Decode(e, mustEncode(t, e, m), again); err != nil || !proto.Equal(again, m) {
				t.Errorf("%v: %v becomes %v, %v", e, m, again, err)
			}
		}
	})
}

func BenchmarkEncode(b *testing.B) {
	reply := &messages.Reply{Status: messages.Status_GRANTED, Lease: &messages.Lease{
		Resource: "orders.42", Owner: "worker-7", Token: 5, Fence: "000000000000005",
		TtlMs: 30_000, RemainingMs: 30_000, AcquiredAtMs: 1_700_000_000_000,
	}}
	for _, e := range []messages.Encoding{messages.Protobuf, messages.JSON} {
		b.Run(e.String(), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				mustEncode(b, e, reply)
			}
		})
	}
}

func BenchmarkDecode(b *testing.B) {
	request := &messages.AcquireRequest{Owner: "worker-7", TtlMs: 30_000, RequestId: "01JD3Z8V7Q"}
	for _, e := range []messages.Encoding{messages.Protobuf, messages.JSON} {
		payload := mustEncode(b, e, request)
		b.Run(e.String(), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if err := messages.Decode(e, payload, &messages.AcquireRequest{}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func mustEncode(t fataler, e messages.Encoding, m proto.Message) []byte {
	t.Helper()
	payload, err := messages.Encode(e, m)
	if err != nil {
		t.Fatalf("Encode(%v, %v): %v", e, m, err)
	}
	if e == messages.JSON && !json.Valid(payload) {
		t.Fatalf("%s is not JSON", payload)
	}
	return payload
}
