package messages_test

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/emptypb"

	"github.com/holdfast-io/holdfast/messages"
)

func TestLegalRequests(t *testing.T) {
	for name, m := range map[string]proto.Message{
		"acquire":         &messages.AcquireRequest{Owner: "me", TtlMs: 1000},
		"shortest ttl":    &messages.AcquireRequest{Owner: "me", TtlMs: 100},
		"largest acquire": largestAcquire(),
		"lines in a value": &messages.AcquireRequest{Owner: "me", TtlMs: 1000,
			Metadata: map[string]string{"note": "a\nb"}},
		"empty value": &messages.AcquireRequest{Owner: "me", TtlMs: 1000,
			Metadata: map[string]string{"note": ""}},
		"owner of emoji":     &messages.AcquireRequest{Owner: "🔒 é", TtlMs: 1000},
		"reader":             &messages.AcquireRequest{Owner: "me", TtlMs: 1000, Limit: math.MaxUint32},
		"limit 1":            &messages.AcquireRequest{Owner: "me", TtlMs: 1000, Limit: 1, Permits: 1},
		"a permit, no limit": &messages.AcquireRequest{Owner: "me", TtlMs: 1000, Permits: 1},
		"all permits":        &messages.AcquireRequest{Owner: "me", TtlMs: 1000, Limit: 5, Permits: 5},
		"downgrade":          &messages.ExtendRequest{Owner: "me", TtlMs: 1000, Limit: math.MaxUint32},
		"limit that falls":   &messages.ExtendRequest{Owner: "me", TtlMs: 1000, Limit: 1},
		"get with waiters":   &messages.GetRequest{Waiters: true},
		"list within":        &messages.ListRequest{After: "orders.42\n7", Waiters: true},
		"release":            &messages.ReleaseRequest{Owner: "me"},
		"largest release":    largestRelease(),
		"extend":             &messages.ExtendRequest{Owner: "me", TtlMs: 1000},
		"largest extend":     largestExtend(),
		"extend in session":  &messages.ExtendRequest{Owner: "me", TtlMs: 1000, Session: strings.Repeat("s", 64)},
		"get":                &messages.GetRequest{},
		"stale get":          &messages.GetRequest{Stale: true},
		"break":              &messages.BreakRequest{Token: 1},
		"largest break":      largestBreak(),
		"delay":              &messages.AcquireRequest{Owner: "me", TtlMs: 1000, DelayMs: 3_600_000, Confirm: true},
		"session":            &messages.AcquireRequest{Owner: "me", TtlMs: 1000, Session: strings.Repeat("s", 16)},
		"secret": &messages.AcquireRequest{Owner: "me", TtlMs: 1000, SecretHash: make([]byte, 32),
			Secret: make([]byte, 16)},
		"block":            &messages.AcquireRequest{Owner: "me", TtlMs: 1000, Tokens: 1_000_000},
		"block, exclusive": &messages.AcquireRequest{Owner: "me", TtlMs: 1000, Tokens: 2, Limit: 1, Permits: 1},
		"block in memory": &messages.AcquireRequest{Owner: "me", TtlMs: 1000, Tokens: 2,
			Durability: messages.Durability_EPHEMERAL},
		"one token, shared": &messages.AcquireRequest{Owner: "me", TtlMs: 1000, Tokens: 1, Limit: 5, Reentrant: true},
		"growth":            &messages.ExtendRequest{Owner: "me", TtlMs: 1000, Tokens: 4_000_000_000, Order: 7},
		"growth in session": &messages.ExtendRequest{Owner: "me", TtlMs: 1000, Tokens: 2,
			Session: strings.Repeat("s", 16)},
		"shortest hold": &messages.AcquireRequest{Owner: "me", TtlMs: 1000, MinHoldMs: 3_600_000, Limit: 1,
			Reentrant: true, Tokens: 1, DelayMs: 1, Confirm: true},
		"shortest hold of a block": &messages.AcquireRequest{Owner: "me", TtlMs: 1000, MinHoldMs: 1, Tokens: 9},
		"confirm":                  &messages.ConfirmRequest{Token: 1},
		"largest confirm": &messages.ConfirmRequest{Token: 1, By: strings.Repeat("b", 256),
			How: strings.Repeat("h", 512)},
		"keep":             &messages.KeepRequest{TtlMs: 1000},
		"keep and listen":  &messages.KeepRequest{TtlMs: 1000, Alive: "_INBOX.a", DisconnectMs: 5000},
		"keep for wanted":  &messages.KeepRequest{TtlMs: 1000, Notices: true},
		"keep for notices": &messages.KeepRequest{TtlMs: 1000, Notices: true, Alive: "_INBOX.a"},
		"end":              &messages.EndRequest{},
		"orphan":           &messages.EndRequest{Orphan: true, Secret: make([]byte, 64)},
		"set":              &messages.SetRequest{Owner: "me", Metadata: map[string]string{"a": "b"}},
		"list":             &messages.ListRequest{},
		"largest list":     largestList(),
		"list on":          &messages.ListRequest{Pattern: "orders.*", After: "orders.42"},
		"ranking": &messages.ListRequest{Pattern: "orders.*", Limit: 1000, Waiters: true, Tenant: "*",
			By: messages.Ranking_HOLD},
	} {
		if err := messages.DefaultLimits().Check(m); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// Every rule, broken once.
func TestIllegalRequests(t *testing.T) {
	type (
		acquire = messages.AcquireRequest
		release = messages.ReleaseRequest
		extend  = messages.ExtendRequest
		brk     = messages.BreakRequest
		confirm = messages.ConfirmRequest
		keep    = messages.KeepRequest
		end     = messages.EndRequest
		set     = messages.SetRequest
		list    = messages.ListRequest
	)
	long := strings.Repeat("x", 10<<10)
	for _, tc := range []struct {
		m    proto.Message
		want string
	}{
		{&keep{TtlMs: 1000, Notices: true, DisconnectMs: 5000},
			`alive: a subject on which the client listens, since disconnect_ms is set, got none`},
		{&acquire{TtlMs: 1000}, `owner: 1 to 256 bytes, got 0 bytes`},
		{(*acquire)(nil), `owner: 1 to 256 bytes, got 0 bytes`},
		{&acquire{Owner: long, TtlMs: 1000}, `owner: 1 to 256 bytes, got 10240 bytes`},
		{&acquire{Owner: "a\nb", TtlMs: 1000}, `owner: UTF-8 without control characters, got "a\nb"`},
		{&acquire{Owner: "a\u0085", TtlMs: 1000}, `owner: UTF-8 without control characters, got "a\u0085"`},
		{&acquire{Owner: "a\xff", TtlMs: 1000}, `owner: UTF-8 without control characters, got "a\xff"`},
		{&acquire{Owner: "a"}, `ttl_ms: 100 to 86400000, got 0`},
		{&acquire{Owner: "a", TtlMs: 99}, `ttl_ms: 100 to 86400000, got 99`},
		{&acquire{Owner: "a", TtlMs: 86_400_001}, `ttl_ms: 100 to 86400000, got 86400001`},
		{&acquire{Owner: "a", TtlMs: math.MaxUint32}, `ttl_ms: 100 to 86400000, got 4294967295`},
		{&acquire{Owner: "a", TtlMs: 100, WaitMs: 3_600_001}, `wait_ms: at most 3600000, got 3600001`},
		{&acquire{Owner: "a", TtlMs: 100, RequestId: long[:65]}, `request_id: at most 64 bytes, got 65 bytes`},
		{&acquire{Owner: "a", TtlMs: 100, RequestId: "\x1b"},
			`request_id: UTF-8 without control characters, got "\x1b"`},
		{&acquire{Owner: "a", TtlMs: 100, RequestId: "\xff"},
			`request_id: UTF-8 without control characters, got "\xff"`},
		{&acquire{Owner: "a", TtlMs: 100, Durability: 2}, `durability: PERSISTENT or EPHEMERAL, got 2`},
		{&acquire{Owner: "a", TtlMs: 100, Durability: -1}, `durability: PERSISTENT or EPHEMERAL, got -1`},
		{withMetadata(entries(17)), `metadata: at most 16 entries, got 17 entries`},
		{withMetadata(map[string]string{"k": long[:1024]}), `metadata: at most 1024 bytes together, got 1025 bytes`},
		{withMetadata(map[string]string{long[:1025]: ""}), `metadata: at most 1024 bytes together, got 1025 bytes`},
		{withMetadata(map[string]string{"": "v"}), `metadata key: 1 to 1024 bytes, got 0 bytes`},
		{withMetadata(map[string]string{"k\n": "v"}), `metadata key: UTF-8 without control characters, got "k\n"`},
		{withMetadata(map[string]string{"k\xff": "v"}), `metadata key: UTF-8 without control characters, got "k\xff"`},
		{withMetadata(map[string]string{"k": "v\xff"}), `metadata value of "k": UTF-8, got "v\xff"`},
		{&acquire{Owner: "a", TtlMs: 100, Permits: 2},
			`permits: at most 1 of an exclusive lease; set limit for a shared one, got 2`},
		{&acquire{Owner: "a", TtlMs: 100, Limit: 1, Permits: 2},
			`permits: at most 1 of an exclusive lease; set limit for a shared one, got 2`},
		{&acquire{Owner: "a", TtlMs: 100, Limit: 5, Permits: 6},
			`permits: at most 5, the limit of the same request; take fewer or raise limit, got 6`},
		{&acquire{Owner: "a", TtlMs: 100, Limit: 2000, Permits: 1001},
			`permits: at most 1000; acquire more by further requests, got 1001`},
		{&acquire{Owner: "a", TtlMs: 100, Limit: 5, Permits: math.MaxUint32},
			`permits: at most 1000; acquire more by further requests, got 4294967295`},

		{&release{}, `owner: 1 to 256 bytes, got 0 bytes`},
		{&release{Owner: "a", Token: 900_000_000_000_001}, `token: at most 900000000000000, got 900000000000001`},
		{&release{Owner: "a", RequestId: long[:65]}, `request_id: at most 64 bytes, got 65 bytes`},

		{&extend{TtlMs: 1000}, `owner: 1 to 256 bytes, got 0 bytes`},
		{&extend{Owner: "a", TtlMs: 1000, Token: math.MaxUint64},
			`token: at most 900000000000000, got 18446744073709551615`},
		{&extend{Owner: "a"}, `ttl_ms: 100 to 86400000, got 0`},
		{&extend{Owner: "a", TtlMs: 86_400_001}, `ttl_ms: 100 to 86400000, got 86400001`},
		{&extend{Owner: "a", TtlMs: 100, Order: 1 << 53}, `order: at most 9007199254740991, got 9007199254740992`},
		{&messages.SetRequest{Owner: "a", Order: 1 << 53}, `order: at most 9007199254740991, got 9007199254740992`},

		{&brk{}, `token: 1 to 900000000000000, got 0`},
		{&brk{Token: 900_000_000_000_001}, `token: 1 to 900000000000000, got 900000000000001`},
		{&brk{Token: 1, Reason: long[:513]}, `reason: at most 512 bytes, got 513 bytes`},
		{&brk{Token: 1, Reason: "a\nb"}, `reason: UTF-8 without control characters, got "a\nb"`},
		{&brk{Token: 1, Reason: "a\xff"}, `reason: UTF-8 without control characters, got "a\xff"`},

		{&acquire{Owner: "a", TtlMs: 100, DelayMs: 3_600_001}, `delay_ms: at most 3600000, got 3600001`},
		{&acquire{Owner: "a", TtlMs: 100, DelayMs: 1, Durability: messages.Durability_EPHEMERAL},
			`durability: PERSISTENT, since delay_ms or confirm is set, got EPHEMERAL`},
		{&acquire{Owner: "a", TtlMs: 100, Confirm: true, Durability: messages.Durability_EPHEMERAL},
			`durability: PERSISTENT, since delay_ms or confirm is set, got EPHEMERAL`},
		{&acquire{Owner: "a", TtlMs: 100, Tokens: 1_000_001}, `tokens: at most 1000000, got 1000001`},
		{&acquire{Owner: "a", TtlMs: 100, Tokens: math.MaxUint32}, `tokens: at most 1000000, got 4294967295`},
		{&acquire{Owner: "a", TtlMs: 100, Tokens: 2, Limit: 2},
			`limit: 0 or 1 beside tokens: a shared lease has one token, got 2`},
		{&acquire{Owner: "a", TtlMs: 100, Tokens: 2, Reentrant: true},
			`reentrant: false beside tokens: a block belongs to one process, got true`},
		{&extend{Owner: "a", TtlMs: 100, Tokens: 4_000_000_001}, `tokens: at most 4000000000, got 4000000001`},
		{&extend{Owner: "a", TtlMs: 100, Tokens: 1, Limit: 1},
			`tokens: none beside limit: a shared lease has one token, got both`},
		{&acquire{Owner: "a", TtlMs: 100, MinHoldMs: 3_600_001}, `min_hold_ms: at most 3600000, got 3600001`},
		{&acquire{Owner: "a", TtlMs: 100, MinHoldMs: 1, Limit: 2},
			`limit: 0 or 1 beside min_hold_ms: only an exclusive lease has a shortest hold, got 2`},
		{&acquire{Owner: "a", TtlMs: 100, MinHoldMs: 1, Durability: messages.Durability_EPHEMERAL},
			`durability: PERSISTENT, since min_hold_ms is set, got EPHEMERAL`},
		{&acquire{Owner: "a", TtlMs: 100, Session: long[:15]}, `session: 16 to 64 bytes, got 15 bytes`},
		{&acquire{Owner: "a", TtlMs: 100, Session: long[:65]}, `session: 16 to 64 bytes, got 65 bytes`},
		{&acquire{Owner: "a", TtlMs: 100, Session: long[:16] + "\n"},
			`session: UTF-8 without control characters, got "xxxxxxxxxxxxxxxx\n"`},
		{&acquire{Owner: "a", TtlMs: 100, SecretHash: make([]byte, 31)},
			`secret_hash: the 32 bytes of a SHA-256, got 31 bytes`},
		{&acquire{Owner: "a", TtlMs: 100, Secret: make([]byte, 15)}, `secret: 16 to 64 bytes, got 15 bytes`},
		{&release{Owner: "a", Secret: make([]byte, 65)}, `secret: 16 to 64 bytes, got 65 bytes`},
		{&extend{Owner: "a", TtlMs: 100, Secret: make([]byte, 15)}, `secret: 16 to 64 bytes, got 15 bytes`},
		{&extend{Owner: "a", TtlMs: 100, Session: long[:15]}, `session: 16 to 64 bytes, got 15 bytes`},
		{&extend{Owner: "a", TtlMs: 100, Limit: 2, Session: long[:16]},
			`session: none beside limit: a downgrade leaves the lease in its session, got both`},
		{&confirm{}, `token: 1 to 900000000000000, got 0`},
		{&confirm{Token: 1, By: long[:257]}, `by: at most 256 bytes, got 257 bytes`},
		{&confirm{Token: 1, How: long[:513]}, `how: at most 512 bytes, got 513 bytes`},
		{&keep{}, `ttl_ms: 100 to 86400000, got 0`},
		{&keep{TtlMs: 100, DisconnectMs: 5000},
			`alive: a subject on which the client listens, since disconnect_ms is set, got none`},
		{&keep{TtlMs: 100, Alive: "a", DisconnectMs: 4999}, `disconnect_ms: 5000 to 86400000, got 4999`},
		{&end{Secret: make([]byte, 15)}, `secret: 16 to 64 bytes, got 15 bytes`},
		{&set{}, `owner: 1 to 256 bytes, got 0 bytes`},
		{&set{Owner: "a", Metadata: entries(17)}, `metadata: at most 16 entries, got 17 entries`},
		{&set{Owner: "a", Secret: make([]byte, 15)}, `secret: 16 to 64 bytes, got 15 bytes`},

		{&list{Pattern: "a.>.b"}, `pattern: a key in which * is one level and > the rest, got "a.>.b"`},
		{&list{Limit: 1001}, `limit: at most 1000, got 1001`},
		{&list{After: long}, `after: 1 to 512 bytes, got 10240 bytes`},
		{&list{After: "cafe\u0301"}, `after: Unicode NFC, got "cafe\u0301"`},
		{&list{After: "a\nb"}, `after: a resource, or next of an earlier page, got "a\nb"`},
		{&list{By: 4}, `by: QUEUE, WAIT or HOLD, got 4`},
		{&list{By: -1}, `by: QUEUE, WAIT or HOLD, got -1`},
		{&list{By: messages.Ranking_QUEUE, After: "a"},
			`after: none beside by: a ranking has no further page; raise limit, or leave out by, got "a"`},
		{&list{By: messages.Ranking_HOLD, HeldBack: true},
			`held_back: false beside by: a ranking is of what waits or is held; leave out one of them, got true`},
		{&list{After: "a\x00"}, `after: UTF-8 without control characters, got "a\x00"`},
	} {
		t.Run(tc.want, func(t *testing.T) {
			wantInvalid(t, messages.DefaultLimits().Check(tc.m), tc.want)
		})
	}
}

// Of several broken rules the error names that of the first field in the contract's order.
func TestFirstBrokenRule(t *testing.T) {
	err := messages.DefaultLimits().Check(&messages.AcquireRequest{WaitMs: math.MaxUint32, Durability: 9})
	wantInvalid(t, err, `owner: 1 to 256 bytes, got 0 bytes`)
}

func TestLongValuesAreNotEchoed(t *testing.T) {
	owner := strings.Repeat("é", 100) + "\x00"
	err := messages.DefaultLimits().Check(&messages.AcquireRequest{Owner: owner, TtlMs: 1000})
	wantInvalid(t, err, `owner: UTF-8 without control characters, got "`+strings.Repeat("é", 32)+`"... (201 bytes)`)
}

func TestLimitsOfADeployment(t *testing.T) {
	limits := &messages.Limits{
		MaxOwnerBytes: 3, MinTtlMs: 5, MaxTtlMs: 10, MaxWaitMs: 20, MaxRequestIdBytes: 2,
		MaxMetadataEntries: 1, MaxMetadataBytes: 4, MaxToken: 7, MaxDelayMs: 30,
	}
	legal := func() *messages.AcquireRequest {
		return &messages.AcquireRequest{
			Owner: "abc", TtlMs: 10, WaitMs: 20, RequestId: "ab", Metadata: map[string]string{"ab": "cd"},
		}
	}
	if err := limits.Check(legal()); err != nil {
		t.Fatal(err)
	}
	for want, change := range map[string]func(*messages.AcquireRequest){
		`owner: 1 to 3 bytes, got 4 bytes`:           func(r *messages.AcquireRequest) { r.Owner = "abcd" },
		`ttl_ms: 5 to 10, got 4`:                     func(r *messages.AcquireRequest) { r.TtlMs = 4 },
		`ttl_ms: 5 to 10, got 11`:                    func(r *messages.AcquireRequest) { r.TtlMs = 11 },
		`wait_ms: at most 20, got 21`:                func(r *messages.AcquireRequest) { r.WaitMs = 21 },
		`request_id: at most 2 bytes, got 3 bytes`:   func(r *messages.AcquireRequest) { r.RequestId = "abc" },
		`metadata: at most 1 entries, got 2 entries`: func(r *messages.AcquireRequest) { r.Metadata = entries(2) },
		`delay_ms: at most 30, got 31`:               func(r *messages.AcquireRequest) { r.DelayMs = 31 },
		`min_hold_ms: at most 30, got 31`:            func(r *messages.AcquireRequest) { r.MinHoldMs = 31 },
		`metadata: at most 4 bytes together, got 5 bytes`: func(
			r *messages.AcquireRequest) {
			r.Metadata["ab"] = "cde"
		},
	} {
		r := legal()
		change(r)
		wantInvalid(t, limits.Check(r), want)
	}
	wantInvalid(t, limits.Check(&messages.ReleaseRequest{Owner: "abc", Token: 8}), `token: at most 7, got 8`)
}

// A message that is no request is not the client's fault: the error is not ErrInvalid.
func TestCheckOfNoRequest(t *testing.T) {
	for _, m := range []proto.Message{&messages.Reply{}, &emptypb.Empty{}, nil} {
		if err := messages.DefaultLimits().Check(m); err == nil || errors.Is(err, messages.ErrInvalid) {
			t.Errorf("Check(%T) = %v", m, err)
		}
	}
}

func TestCheckingCostsNoAllocation(t *testing.T) {
	limits, request := messages.DefaultLimits(), largestAcquire()
	wantNoAllocation(t, "Check", func() { _ = limits.Check(request) })
}

func BenchmarkCheck(b *testing.B) {
	limits := messages.DefaultLimits()
	request := &messages.AcquireRequest{Owner: "worker-7", TtlMs: 30_000, RequestId: "01JD3Z8V7Q"}
	b.ReportAllocs()
	for b.Loop() {
		if err := limits.Check(request); err != nil {
			b.Fatal(err)
		}
	}
}

func withMetadata(metadata map[string]string) *messages.AcquireRequest {
	return &messages.AcquireRequest{Owner: "a", TtlMs: 1000, Metadata: metadata}
}

func entries(n int) map[string]string {
	metadata := map[string]string{}
	for i := range n {
		metadata[fmt.Sprint(i)] = ""
	}
	return metadata
}
