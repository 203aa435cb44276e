package messages_test

import (
	"bytes"
	"fmt"
	"math"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/holdfast-io/holdfast/messages"
)

func TestDefaultLimits(t *testing.T) {
	want := &messages.Limits{
		MaxResourceBytes: 512, MaxOwnerBytes: 256,
		MinTtlMs: 100, MaxTtlMs: 86_400_000, MaxWaitMs: 3_600_000,
		MaxRequestIdBytes: 64, MaxMetadataEntries: 16, MaxMetadataBytes: 1024,
		MaxPayloadBytes: 16_384, MaxToken: 900_000_000_000_000, MaxDelayMs: 3_600_000,
	}
	got := messages.DefaultLimits()
	if !proto.Equal(got, want) {
		t.Errorf("got %v", got)
	}
	got.MaxTtlMs = 1
	if messages.DefaultLimits().GetMaxTtlMs() == 1 {
		t.Error("one caller's limits are another's")
	}
}

// The bound on payloads fits each valid request in every spelling.
func TestLargestRequestsFit(t *testing.T) {
	limits := messages.DefaultLimits()
	for _, m := range []proto.Message{largestAcquire(), largestRelease(), largestExtend(), largestBreak(),
		largestList()} {
		if err := limits.Check(m); err != nil {
			t.Fatalf("%T is not legal: %v", m, err)
		}
		if grown := proto.Clone(m); limits.Check(grow(grown)) == nil {
			t.Errorf("%T could be larger", m)
		}
		payload := escapedJSON(t, m)
		got := m.ProtoReflect().New().Interface()
		if err := messages.Decode(messages.JSON, payload, got); err != nil {
			t.Errorf("%T, %d bytes with every character escaped: %v", m, len(payload), err)
		}
		if !proto.Equal(got, m) {
			t.Errorf("%T does not come back", m)
		}
		t.Logf("%T: %d bytes of %d", m, len(payload), messages.MaxPayloadBytes)
	}
}

func largestAcquire() *messages.AcquireRequest {
	metadata := map[string]string{}
	for i := range messages.MaxMetadataEntries {
		metadata[fmt.Sprintf("%02d", i)] = strings.Repeat("v", messages.MaxMetadataBytes/messages.MaxMetadataEntries-2)
	}
	return &messages.AcquireRequest{
		Owner:      strings.Repeat("o", messages.MaxOwnerBytes),
		TtlMs:      messages.MaxTTLMillis,
		WaitMs:     messages.MaxWaitMillis,
		RequestId:  strings.Repeat("r", messages.MaxRequestIDBytes),
		Durability: messages.Durability_EPHEMERAL,
		Reentrant:  true,
		Metadata:   metadata,
		Limit:      math.MaxUint32,
		Permits:    messages.MaxPermits,
	}
}

func largestRelease() *messages.ReleaseRequest {
	return &messages.ReleaseRequest{
		Owner:     strings.Repeat("o", messages.MaxOwnerBytes),
		Token:     uint64(messages.MaxToken),
		RequestId: strings.Repeat("r", messages.MaxRequestIDBytes),
	}
}

func largestExtend() *messages.ExtendRequest {
	return &messages.ExtendRequest{
		Owner: strings.Repeat("o", messages.MaxOwnerBytes),
		Token: uint64(messages.MaxToken),
		TtlMs: messages.MaxTTLMillis,
		Limit: math.MaxUint32,
	}
}

func largestBreak() *messages.BreakRequest {
	return &messages.BreakRequest{
		Token:  uint64(messages.MaxToken),
		Reason: strings.Repeat("r", messages.MaxReasonBytes),
	}
}

func largestList() *messages.ListRequest {
	return &messages.ListRequest{
		Pattern: strings.Repeat("=3A", messages.MaxResourceBytes),
		Limit:   messages.MaxListLimit,
		After: messages.Cursor{Resource: strings.Repeat("a", messages.MaxResourceBytes),
			Token: messages.MaxToken}.String(),
		Waiters: true,
	}
}

// grow makes the longest field of m one character longer.
func grow(m proto.Message) proto.Message {
	switch r := m.(type) {
	case *messages.AcquireRequest:
		r.Metadata["00"] += "v"
	case *messages.ReleaseRequest:
		r.Owner += "o"
	case *messages.ExtendRequest:
		r.Owner += "o"
	case *messages.BreakRequest:
		r.Reason += "r"
	case *messages.ListRequest:
		r.Pattern += "=3A"
	}
	return m
}

// escapedJSON writes m with every character of every string, names included, as \u0041.
func escapedJSON(t *testing.T, m proto.Message) []byte {
	t.Helper()
	text, err := messages.Encode(messages.JSON, m)
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	quoted := false
	for _, c := range bytes.ReplaceAll(text, []byte(`\n`), []byte{'\n'}) {
		switch {
		case c == '\\':
			t.Fatalf("cannot escape twice: %s", text)
		case c == '"':
			quoted = !quoted
			b.WriteByte(c)
		case quoted:
			fmt.Fprintf(&b, `\u%04x`, c)
		default:
			b.WriteByte(c)
		}
	}
	return []byte(b.String())
}

// A request asks for no more tokens than one client uses in a second, and a lease has no more than 32 bits hold.
func TestTokensAreBounded(t *testing.T) {
	limits := messages.DefaultLimits()
	acquire := &messages.AcquireRequest{Owner: "a", TtlMs: 1000, Tokens: messages.MaxBlock}
	extend := &messages.ExtendRequest{Owner: "a", TtlMs: 1000, Tokens: messages.MaxTokens}
	for _, m := range []proto.Message{acquire, extend} {
		if err := limits.Check(m); err != nil {
			t.Error(err)
		}
	}
	acquire.Tokens++
	extend.Tokens++
	wantInvalid(t, limits.Check(acquire), `tokens: at most 1000000, got 1000001`)
	wantInvalid(t, limits.Check(extend), `tokens: at most 4000000000, got 4000000001`)
}
