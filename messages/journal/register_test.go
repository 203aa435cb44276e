package journal_test

import (
	"slices"
	"testing"

	"github.com/holdfast-io/holdfast/messages"
	"github.com/holdfast-io/holdfast/messages/journal"
)

// The number of a generation is used once, whether it was put into use or given up.
func TestRegister(t *testing.T) {
	r := &journal.Register{Present: &journal.Generation{Shards: 4}}
	first := r.Begin(2, "c", "h", 7)
	if first.Next() != (messages.Shards{Generation: 1, Count: 2}) || first.InUse() != (messages.Shards{Count: 4}) ||
		first.IsVoided(1) || r.GetReshard() != nil {
		t.Errorf("it begins with %v", first)
	}
	second := first.Void().Begin(8, "c", "h", 8)
	if second.Next() != (messages.Shards{Generation: 2, Count: 8}) || !second.IsVoided(1) || second.IsVoided(2) ||
		second.IsVoided(3) || second.IsVoided(0) {
		t.Errorf("the second is %v", second)
	}
	done := second.Done()
	if done.InUse() != second.Next() || done.GetReshard() != nil || done.IsVoided(2) || done.IsVoided(1) ||
		!slices.Equal(done.Earlier(), []messages.Shards{{Count: 4}}) {
		t.Errorf("done is %v", done)
	}
	if third := done.Begin(1, "c", "h", 9); third.Next().Generation != 3 {
		t.Errorf("the third is %v", third)
	}
}
