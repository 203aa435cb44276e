package messages_test

import (
	"testing"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"pgregory.net/rapid"

	"github.com/holdfast-io/holdfast/messages"
)

func TestEventIDs(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		id := messages.EventID{
			Shard: rapid.Uint32().Draw(t, "shard"), Position: rapid.Uint64().Draw(t, "position"),
			Index: rapid.Uint32().Draw(t, "index"),
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
	for _, wrong := range []string{"", "1", "1.2", "1.2.3.4", "1.2.+3", "01.2.3", "-1.2.3", "4294967296.1.1", "a.b.c",
		"1.2.3 "} {
		if id, err := messages.ParseEventID(wrong); err == nil {
			t.Errorf("%q is read as %v", wrong, id)
		} else {
			checkInvalid(t, err)
		}
	}
}

// AppendJSON and Encode write the same bytes.
func TestEventJSON(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) { checkEventJSON(t, anyEvent().Draw(t, "event")) })
}

// Each field is written: one that is added to a message and not to AppendJSON is found here.
func TestEventJSONHasEachField(t *testing.T) {
	e := new(messages.Event)
	fill(e.ProtoReflect())
	checkEventJSON(t, e)
}

// fill sets each field to something but its zero value.
func fill(m protoreflect.Message) {
	for i := range m.Descriptor().Fields().Len() {
		f := m.Descriptor().Fields().Get(i)
		value := map[protoreflect.Kind]any{
			protoreflect.StringKind: "text", protoreflect.Uint32Kind: uint32(7), protoreflect.Uint64Kind: uint64(7),
			protoreflect.Int64Kind: int64(7), protoreflect.EnumKind: protoreflect.EnumNumber(1),
			protoreflect.BoolKind: true,
		}[f.Kind()]
		switch {
		case f.IsMap():
			m.Mutable(f).Map().Set(protoreflect.ValueOf("key").MapKey(), protoreflect.ValueOf("text"))
		case f.IsList():
			m.Mutable(f).List().Append(protoreflect.ValueOf(value))
		case f.Message() != nil:
			fill(m.Mutable(f).Message())
		default:
			m.Set(f, protoreflect.ValueOf(value))
		}
	}
}

func FuzzEventJSON(f *testing.F) {
	f.Fuzz(rapid.MakeFuzz(func(t *rapid.T) { checkEventJSON(t, anyEvent().Draw(t, "event")) }))
}

func checkEventJSON(t fataler, e *messages.Event) {
	t.Helper()
	public := proto.CloneOf(e)
	if public.Lease != nil {
		public.Lease.Tenant = "" // it is in the subject
	}
	want, err := messages.Encode(messages.JSON, public)
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
			Fence: text.Draw(t, "fence"), TtlMs: rapid.Uint32().Draw(t, "ttl"),
			RemainingMs:  rapid.Uint32().Draw(t, "remaining"),
			AcquiredAtMs: rapid.Int64().Draw(t, "acquired"),
			Durability:   messages.Durability(rapid.IntRange(0, 1).Draw(t, "durability")),
			Metadata:     rapid.MapOfN(text, text, 0, 4).Draw(t, "metadata"),
			Limit:        rapid.Uint32().Draw(t, "limit"), Slots: rapid.SliceOfN(rapid.Uint32(), 0, 4).Draw(t, "slots"),
			Session: text.Draw(t, "session"), Identity: text.Draw(t, "identity"),
			Tokens: rapid.Uint32().Draw(t, "tokens"),
		}
	})
	return rapid.Custom(func(t *rapid.T) *messages.Event {
		e := &messages.Event{
			Kind: messages.Event_Kind(rapid.IntRange(0, 7).Draw(t, "kind")), Shard: rapid.Uint32().Draw(t, "shard"),
			Position: rapid.Uint64().Draw(t, "position"), Index: rapid.Uint32().Draw(t, "index"),
			AtMs: rapid.Int64().Draw(t, "at"), Reason: text.Draw(t, "reason"),
			HeldBack: rapid.Bool().Draw(t, "held back"), RestingMs: rapid.Uint32().Draw(t, "resting"),
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
	e := &messages.Event{
		Kind: messages.Event_ACQUIRED, Shard: 3, Position: 17, AtMs: 1_700_000_000_500,
		Lease: &messages.Lease{
			Resource: "orders.42", Owner: "worker-17", Token: 5, Fence: "000000000000005",
			TtlMs: 30_000, RemainingMs: 30_000, AcquiredAtMs: 1_700_000_000_000,
		},
	}
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
