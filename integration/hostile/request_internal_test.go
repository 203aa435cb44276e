package hostile

import (
	"testing"

	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/holdfast-io/holdfast/messages"
)

// Each field of each request is attacked, and most requests are within the rules.
func TestEachFieldIsAttacked(t *testing.T) {
	const bodies = 2000
	limits := messages.DefaultLimits()
	for number, op := range messages.Operations {
		d, valid, seen := newDice(1, uint64(number)), 0, make(map[protoreflect.Name]bool)
		for range bodies {
			m := d.body(op)
			m.ProtoReflect().Range(func(f protoreflect.FieldDescriptor, _ protoreflect.Value) bool {
				seen[f.Name()] = true
				return true
			})
			if limits.Check(m) == nil {
				valid++
			}
		}
		fields := messages.NewRequest(op).ProtoReflect().Descriptor().Fields()
		for i := range fields.Len() {
			if name := fields.Get(i).Name(); !seen[name] {
				t.Errorf("no %s of %d has the field %s", op, bodies, name)
			}
		}
		t.Logf("%s: %d of %d are within the rules", op, valid, bodies)
		if valid < bodies/10 {
			t.Errorf("only %d of %d requests of %s are within the rules", valid, bodies, op)
		}
	}
}
