package messages_test

import (
	"testing"

	"google.golang.org/protobuf/proto"
	"pgregory.net/rapid"

	"github.com/holdfast-io/holdfast/messages"
)

func TestEvents(t *testing.T) {
	grant := &messages.Grant{
		Resource: "orders.42", Owner: "me", Token: 5, TtlMs: 30_000, AcquiredAtMs: 1_700_000_000_000,
		Metadata: map[string]string{"host": "a"}, RequestId: "private",
	}
	commit := &messages.Commit{AtMs: 1_700_000_000_500, Changes: []*messages.Change{
		{Kind: messages.Event_ACQUIRED, Grant: grant},
		{Resource: "other", Reserved: 1000},
		{Kind: messages.Event_EXTENDED, Grant: grant},
		{Kind: messages.Event_RELEASED, Grant: grant},
		{Kind: messages.Event_EXPIRED, Grant: grant},
		{Kind: messages.Event_BROKEN, Grant: grant, Reason: "it hung"},
	}}
	want := []string{
		`{"kind":"ACQUIRED","lease":{"resource":"orders.42","owner":"me","token":"5","fence":"000000000000005","ttl_ms":30000,"remaining_ms":30000,"acquired_at_ms":"1700000000000","metadata":{"host":"a"}},"shard":3,"position":"17","at_ms":"1700000000500"}`,
		`{"kind":"EXTENDED","lease":{"resource":"orders.42","owner":"me","token":"5","fence":"000000000000005","ttl_ms":30000,"remaining_ms":30000,"acquired_at_ms":"1700000000000","metadata":{"host":"a"}},"shard":3,"position":"17","index":2,"at_ms":"1700000000500"}`,
		`{"kind":"RELEASED","lease":{"resource":"orders.42","owner":"me","token":"5","fence":"000000000000005","ttl_ms":30000,"acquired_at_ms":"1700000000000","metadata":{"host":"a"}},"shard":3,"position":"17","index":3,"at_ms":"1700000000500"}`,
		`{"kind":"EXPIRED","lease":{"resource":"orders.42","owner":"me","token":"5","fence":"000000000000005","ttl_ms":30000,"acquired_at_ms":"1700000000000","metadata":{"host":"a"}},"shard":3,"position":"17","index":4,"at_ms":"1700000000500"}`,
		`{"kind":"BROKEN","lease":{"resource":"orders.42","owner":"me","token":"5","fence":"000000000000005","ttl_ms":30000,"acquired_at_ms":"1700000000000","metadata":{"host":"a"}},"shard":3,"position":"17","index":5,"at_ms":"1700000000500","reason":"it hung"}`,
	}
	events := messages.Events(3, 17, commit)
	if len(events) != len(want) {
		t.Fatalf("%d events, want %d", len(events), len(want))
	}
	for i, e := range events {
		if got := string(e.AppendJSON(nil)); got != want[i] {
			t.Errorf("got  %s\nwant %s", got, want[i])
		}
	}
	last := make(map[string][]string)
	events[0].SetHeader(last)
	events[len(events)-1].SetHeader(last)
	for header, want := range map[string]string{
		"Holdfast-Event": "BROKEN", "Fencing-Token": "000000000000005", "Nats-Msg-Id": "3.17.5",
	} {
		if got := last[header]; len(got) != 1 || got[0] != want {
			t.Errorf("%s: %q, want %q", header, got, want)
		}
	}
}

func TestEventIDs(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		id := messages.EventID{
			Shard: rapid.Uint32().Draw(t, "shard"), Position: rapid.Uint64().Draw(t, "position"), Index: rapid.Uint32().Draw(t, "index"),
		}
		if got, err := messages.ParseEventID(id.String()); err != nil || got != id {
			t.Fatalf("%q is read as %v (%v)", id, got, err)
		}
	})
	ordered := []string{"1.1.0", "1.1.1", "1.2.0", "1.10.0", "1.10.2"}
	for i, a := range ordered {
		for j, b := range ordered {
			first, err := messages.ParseEventID(a)
			if err != nil {
				t.Fatal(err)
			}
			second, _ := messages.ParseEventID(b)
			if first.Before(second) != (i < j) {
				t.Errorf("%s before %s: %t", a, b, i >= j)
			}
		}
	}
	for _, wrong := range []string{"", "1", "1.2", "1.2.3.4", "1.2.+3", "01.2.3", "-1.2.3", "4294967296.1.1", "a.b.c", "1.2.3 "} {
		if id, err := messages.ParseEventID(wrong); err == nil {
			t.Errorf("%q is read as %v", wrong, id)
		} else {
			checkInvalid(t, err)
		}
	}
}

// The short way to JSON writes what the long one does, byte for byte.
func TestEventJSON(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) { checkEventJSON(t, anyEvent().Draw(t, "event")) })
}

func FuzzEventJSON(f *testing.F) {
	f.Fuzz(rapid.MakeFuzz(func(t *rapid.T) { checkEventJSON(t, anyEvent().Draw(t, "event")) }))
}

func checkEventJSON(t fataler, e *messages.Event) {
	t.Helper()
	want, err := messages.Encode(messages.JSON, e)
	if err != nil {
		t.Fatalf("%v: %v", e, err)
	}
	if got := e.AppendJSON(nil); string(got) != string(want) {
		t.Fatalf("got  %s\nwant %s", got, want)
	}
}

// anyEvent draws an event with any field filled or not. A field added to it must be added here.
func anyEvent() *rapid.Generator[*messages.Event] {
	text := rapid.OneOf(rapid.String(), rapid.StringMatching(`[ -~\x00-\x1f\x{7f}-\x{9f}\x{2028}\x{2029}<>&"\\]*`))
	lease := rapid.Custom(func(t *rapid.T) *messages.Lease {
		return &messages.Lease{
			Resource: text.Draw(t, "resource"), Owner: text.Draw(t, "owner"), Token: rapid.Uint64().Draw(t, "token"),
			Fence: text.Draw(t, "fence"), TtlMs: rapid.Uint32().Draw(t, "ttl"), RemainingMs: rapid.Uint32().Draw(t, "remaining"),
			AcquiredAtMs: rapid.Int64().Draw(t, "acquired"), Durability: messages.Durability(rapid.IntRange(0, 1).Draw(t, "durability")),
			Metadata: rapid.MapOfN(text, text, 0, 4).Draw(t, "metadata"),
		}
	})
	return rapid.Custom(func(t *rapid.T) *messages.Event {
		e := &messages.Event{
			Kind: messages.Event_Kind(rapid.IntRange(0, 5).Draw(t, "kind")), Shard: rapid.Uint32().Draw(t, "shard"),
			Position: rapid.Uint64().Draw(t, "position"), Index: rapid.Uint32().Draw(t, "index"),
			AtMs: rapid.Int64().Draw(t, "at"), Reason: text.Draw(t, "reason"),
		}
		if rapid.Bool().Draw(t, "has a lease") {
			e.Lease = lease.Draw(t, "lease")
		}
		return e
	})
}

func TestEventWithWhatIsNotUTF8(t *testing.T) {
	got := (&messages.Event{Reason: "a\xffb"}).AppendJSON(nil)
	var e messages.Event
	if err := messages.DecodeReply(messages.JSON, got, &e); err != nil || !proto.Equal(&e, &messages.Event{Reason: "a\uFFFDb"}) {
		t.Errorf("%s is read as %v (%v)", got, &e, err)
	}
}

func BenchmarkEventJSON(b *testing.B) {
	e := messages.Events(3, 17, &messages.Commit{AtMs: 1_700_000_000_500, Changes: []*messages.Change{{
		Kind: messages.Event_ACQUIRED, Grant: &messages.Grant{Resource: "orders.42", Owner: "worker-17", Token: 5, TtlMs: 30_000, AcquiredAtMs: 1_700_000_000_000},
	}}})[0]
	b.Run("AppendJSON", func(b *testing.B) {
		b.ReportAllocs()
		buffer := make([]byte, 0, 1024)
		for b.Loop() {
			buffer = e.AppendJSON(buffer[:0])
		}
	})
	b.Run("Encode", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := messages.Encode(messages.JSON, e); err != nil {
				b.Fatal(err)
			}
		}
	})
}
