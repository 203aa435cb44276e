package actors

import (
	"testing"

	"github.com/holdfast-io/holdfast/messages"
	"github.com/holdfast-io/holdfast/messages/journal"
)

func TestEndings(t *testing.T) {
	for _, test := range []struct {
		kind   messages.Event_Kind
		reason string
		want   string
	}{
		{messages.Event_RELEASED, "", "released"},
		{messages.Event_EXPIRED, "", "expired"},
		{messages.Event_EXPIRED, disconnected, "disconnected"},
		{messages.Event_BROKEN, disconnected, "broken"},
		{messages.Event_ACQUIRED, "", ""},
		{messages.Event_EXTENDED, "", ""},
		{messages.Event_CONFIRMED, "", ""},
		{messages.Event_UPDATED, "", ""},
	} {
		why, ended := EndingOf(&journal.Change{Kind: test.kind, Reason: test.reason})
		if ended != (test.want != "") || ended && why.String() != test.want {
			t.Errorf("%v, %q: %v, %v, want %q", test.kind, test.reason, why, ended, test.want)
		}
	}
}
