package journal_test

import (
	"math"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/holdfast-io/holdfast/messages"
	"github.com/holdfast-io/holdfast/messages/journal"
)

func TestGrantLease(t *testing.T) {
	grant := &journal.Grant{
		Resource: "orders.42", Owner: "me", Token: 5, TtlMs: 30_000, AcquiredAtMs: 1_700_000_000_000,
		Durability: messages.Durability_EPHEMERAL, Metadata: map[string]string{"host": "a"}, RequestId: "r1",
	}
	want := &messages.Lease{
		Resource: "orders.42", Owner: "me", Token: 5, Fence: "000000000000005", TtlMs: 30_000, RemainingMs: 12_345,
		AcquiredAtMs: 1_700_000_000_000, Durability: messages.Durability_EPHEMERAL, Metadata: map[string]string{"host": "a"},
	}
	got := grant.Lease(12_345 * time.Millisecond)
	if !proto.Equal(got, want) {
		t.Errorf("got  %v\nwant %v", got, want)
	}
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

// The common fields of a lease and its grant have the same names and types.
func TestLeaseSharesTheGrantsWords(t *testing.T) {
	grant := (&journal.Grant{}).ProtoReflect().Descriptor().Fields()
	lease := (&messages.Lease{}).ProtoReflect().Descriptor().Fields()
	for _, name := range []protoreflect.Name{"resource", "owner", "token", "ttl_ms", "acquired_at_ms", "durability", "metadata"} {
		if g, l := grant.ByName(name), lease.ByName(name); g == nil || l == nil || g.Kind() != l.Kind() {
			t.Errorf("%s differs", name)
		}
	}
}
