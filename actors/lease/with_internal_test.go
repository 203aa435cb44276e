package lease

import (
	"testing"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/holdfast-io/holdfast/messages/journal"
)

// A changed copy of a grant keeps every field that the change leaves alone.
func TestWithKeepsAllFields(t *testing.T) {
	g := &journal.Grant{}
	m := g.ProtoReflect()
	fields := m.Descriptor().Fields()
	for i := range fields.Len() {
		f := fields.Get(i)
		switch {
		case f.IsMap():
			m.Mutable(f).Map().Set(protoreflect.ValueOfString("a").MapKey(), protoreflect.ValueOfString("b"))
		case f.IsList():
			m.Mutable(f).List().Append(protoreflect.ValueOfUint32(7))
		case f.Kind() == protoreflect.StringKind:
			m.Set(f, protoreflect.ValueOfString("a"))
		case f.Kind() == protoreflect.BytesKind:
			m.Set(f, protoreflect.ValueOfBytes([]byte("a")))
		case f.Kind() == protoreflect.BoolKind:
			m.Set(f, protoreflect.ValueOfBool(true))
		case f.Kind() == protoreflect.EnumKind:
			m.Set(f, protoreflect.ValueOfEnum(1))
		case f.Kind() == protoreflect.Uint32Kind:
			m.Set(f, protoreflect.ValueOfUint32(7))
		case f.Kind() == protoreflect.Uint64Kind:
			m.Set(f, protoreflect.ValueOfUint64(7))
		case f.Kind() == protoreflect.Int64Kind:
			m.Set(f, protoreflect.ValueOfInt64(7))
		default:
			t.Fatalf("no value for the field %s", f.Name())
		}
	}
	if got := with(g, func(*journal.Grant) {}); !proto.Equal(got, g) {
		t.Errorf("got  %v\nwant %v", got, g)
	}
}
