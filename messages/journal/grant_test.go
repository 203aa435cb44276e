package journal_test

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"pgregory.net/rapid"

	"github.com/holdfast-io/holdfast/messages"
	"github.com/holdfast-io/holdfast/messages/journal"
)

func TestGrantLease(t *testing.T) {
	grant := &journal.Grant{
		Resource: "orders.42", Owner: "me", Token: 5, TtlMs: 30_000, AcquiredAtMs: 1_700_000_000_000,
		Durability: messages.Durability_EPHEMERAL, Metadata: map[string]string{"host": "a"}, RequestId: "r1",
		Limit: 7, Slots: []uint32{1, 3}, Phase: 4, Former: 2, Session: messages.SessionHash("0123456789abcdef"),
		Identity: "APP/me", Tokens: 9,
	}
	want := &messages.Lease{
		Resource: "orders.42", Owner: "me", Token: 5, Fence: "000000000000004", TtlMs: 30_000, RemainingMs: 12_345,
		AcquiredAtMs: 1_700_000_000_000, Durability: messages.Durability_EPHEMERAL,
		Metadata: map[string]string{"host": "a"},
		Limit:    7, Slots: []uint32{1, 3}, Session: "9f9f5111", Identity: "APP/me", Tokens: 9,
	}
	got := grant.Lease(12_345 * time.Millisecond)
	if !proto.Equal(got, want) {
		t.Errorf("got  %v\nwant %v", got, want)
	}
	got.Tenant = "APP" // callers decide who sees it
	// A field added to Lease must be added above.
	fields := got.ProtoReflect().Descriptor().Fields()
	for i := range fields.Len() {
		if !got.ProtoReflect().Has(fields.Get(i)) {
			t.Errorf("%s is not filled", fields.Get(i).Name())
		}
	}
}

func TestRemaining(t *testing.T) {
	grant := &journal.Grant{TtlMs: 1000}
	for remaining, want := range map[time.Duration]uint32{
		math.MinInt64:                  0,
		-time.Hour:                     0,
		-1:                             0,
		0:                              0,
		999 * time.Microsecond:         0,
		time.Millisecond:               1,
		2*time.Millisecond - 1:         1,
		time.Second - 1:                999,
		time.Second:                    1000,
		time.Second + time.Millisecond: 1000,
		(1<<32 + 5) * time.Millisecond: 1000,
		math.MaxInt64:                  1000,
	} {
		if got := grant.Lease(remaining).GetRemainingMs(); got != want {
			t.Errorf("%v: %d ms, want %d", remaining, got, want)
		}
	}
	longest := &journal.Grant{TtlMs: math.MaxUint32}
	if got := longest.Lease(math.MaxInt64).GetRemainingMs(); got != math.MaxUint32 {
		t.Errorf("longest: %d ms", got)
	}
}

func TestNoGrantNoLease(t *testing.T) {
	var none *journal.Grant
	if lease := none.Lease(time.Second); lease != nil {
		t.Errorf("got %v", lease)
	}
}

// An exclusive lease shows its token, a shared one that of the first lease of its phase.
func TestFence(t *testing.T) {
	for _, tc := range []struct {
		grant *journal.Grant
		want  string
	}{
		{&journal.Grant{Token: 5}, "000000000000005"},
		{&journal.Grant{Token: 5, Limit: 2, Slots: []uint32{0}, Phase: 5}, "000000000000005"},
		{&journal.Grant{Token: 5, Limit: 2, Slots: []uint32{1}, Phase: 3}, "000000000000003"},
		{&journal.Grant{Token: 5, Limit: 2, Slots: []uint32{1}, Phase: 5, Former: 4}, "000000000000005"},
	} {
		if got := tc.grant.Fence().String(); got != tc.want {
			t.Errorf("%v: fence %s, want %s", tc.grant, got, tc.want)
		}
		if got := tc.grant.Lease(0).GetFence(); got != tc.want {
			t.Errorf("%v: its lease has the fence %s, want %s", tc.grant, got, tc.want)
		}
	}
}

// A lease has the tokens from its first one to its last.
func TestTokensOfAGrant(t *testing.T) {
	for _, tc := range []struct {
		tokens uint32
		last   messages.Token
	}{{0, 5}, {1, 5}, {2, 6}, {4_000_000_000, 4_000_000_004}} {
		g := &journal.Grant{Token: 5, Tokens: tc.tokens}
		if g.Last() != tc.last {
			t.Errorf("%d tokens from 5: the last one is %d, want %d", tc.tokens, g.Last(), tc.last)
		}
		for token, want := range map[messages.Token]bool{
			0: false, 4: false, 5: true, tc.last: true, tc.last + 1: false,
		} {
			if g.Has(token) != want {
				t.Errorf("%d tokens from 5: has %d: %t", tc.tokens, token, !want)
			}
		}
	}
	var none *journal.Grant
	if none.Has(0) || none.Last() != 0 {
		t.Errorf("no grant has the token 0, or ends with %d", none.Last())
	}
}

// The weight is no less than what is stored: the grant, and its tag and length within a page.
func TestWeightIsAnUpperBound(t *testing.T) {
	text := func(most int) *rapid.Generator[string] {
		return rapid.Map(rapid.OneOf(rapid.IntRange(0, most), rapid.Just(most)),
			func(n int) string { return strings.Repeat("x", n) })
	}
	limits := messages.DefaultLimits()
	rapid.Check(t, func(t *rapid.T) {
		token := rapid.OneOf(rapid.Uint64Range(1, uint64(messages.MaxToken)), rapid.Just(uint64(messages.MaxToken)))
		g := &journal.Grant{
			Resource: text(messages.MaxResourceBytes).Draw(t, "resource"),
			Owner:    "o" + text(messages.MaxOwnerBytes-1).Draw(t, "owner"),
			Token:    token.Draw(t, "token"), TtlMs: rapid.SampledFrom([]uint32{100, messages.MaxTTLMillis}).Draw(t,
				"ttl"),
			AcquiredAtMs: rapid.SampledFrom([]int64{0, 1_700_000_000_000, -1}).Draw(t, "at"),
			Durability:   rapid.SampledFrom([]messages.Durability{0, 1}).Draw(t, "durability"),
			RequestId:    text(messages.MaxRequestIDBytes).Draw(t, "id"), Metadata: drawMetadata(t),
		}
		if rapid.Bool().Draw(t, "shared") {
			g.Limit = rapid.Uint32Range(2, math.MaxUint32).Draw(t, "limit")
			g.Phase, g.Former = token.Draw(t, "phase"), token.Draw(t, "former")
			first := rapid.Uint32Range(0, 999_000).Draw(t, "slot")
			for i := range rapid.Uint32Range(1, messages.MaxPermits).Draw(t, "permits") {
				g.Slots = append(g.Slots, first+i)
			}
		}
		stored := &journal.Entry{Others: []*journal.Grant{g}}
		if g.GetLimit() == 0 {
			g.Tokens = rapid.SampledFrom([]uint32{0, 2, messages.MaxTokens}).Draw(t, "tokens")
			g.MinHoldMs = rapid.SampledFrom([]uint32{0, 1, math.MaxUint32}).Draw(t, "hold")
		}
		if g.GetMinHoldMs() > 0 {
			stored.RestingMs = math.MaxUint32
		}
		order := rapid.SampledFrom([]uint64{0, 1, messages.MaxOrder})
		g.ExtendOrder, g.SetOrder = order.Draw(t, "extend"), order.Draw(t, "set")
		request := &messages.AcquireRequest{
			Owner: g.GetOwner(), TtlMs: g.GetTtlMs(), RequestId: g.GetRequestId(), Metadata: g.GetMetadata(),
		}
		if err := limits.Check(request); err != nil {
			t.Fatalf("no request asks for this: %v", err)
		}
		if got, size := g.Weight(), proto.Size(stored); got < size {
			t.Fatalf("weight %d of %d bytes: %v", got, size, g)
		}
	})
}

// drawMetadata divides up to 1 024 bytes among up to 16 entries.
func drawMetadata(t *rapid.T) map[string]string {
	n := rapid.IntRange(0, messages.MaxMetadataEntries).Draw(t, "entries")
	if n == 0 {
		return nil
	}
	each := messages.MaxMetadataBytes / n
	inKey := rapid.IntRange(2, each).Draw(t, "bytes in a key")
	metadata := map[string]string{}
	for i := range n {
		metadata[fmt.Sprintf("%02d", i)+strings.Repeat("k", inKey-2)] = strings.Repeat("v", each-inKey)
	}
	return metadata
}

// The common fields of a lease and its grant have the same names and types.
func TestLeaseSharesTheGrantsWords(t *testing.T) {
	grant := (&journal.Grant{}).ProtoReflect().Descriptor().Fields()
	lease := (&messages.Lease{}).ProtoReflect().Descriptor().Fields()
	for _, name := range []protoreflect.Name{"resource", "owner", "token", "ttl_ms", "acquired_at_ms", "durability",
		"metadata", "limit", "slots"} {
		if g, l := grant.ByName(name), lease.ByName(name); g == nil || l == nil || g.Kind() != l.Kind() {
			t.Errorf("%s differs", name)
		}
	}
}
