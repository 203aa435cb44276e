package journal_test

import (
	"testing"

	"github.com/holdfast-io/holdfast/messages"
	"github.com/holdfast-io/holdfast/messages/journal"
)

func TestHandOverCheck(t *testing.T) {
	whole := make([]byte, journal.RequestSize)
	for name, test := range map[string]struct {
		handOver *journal.HandOver
		want     string // part of the error; empty: none
	}{
		"none":  {nil, ""},
		"times": {&journal.HandOver{LeftMs: map[uint64]uint32{0: 0, 7: 1 << 31}}, ""},
		"an end": {&journal.HandOver{Ended: []*journal.EndedRequest{
			{Request: whole, Token: 7, How: messages.Event_EXPIRED, Behind: 7}}}, ""},
		"a withdrawn one": {&journal.HandOver{Ended: []*journal.EndedRequest{{Request: whole}}}, ""},
		"a short request": {&journal.HandOver{Ended: []*journal.EndedRequest{{Request: whole[1:]}}},
			"an ended request of 15 bytes"},
		"a fence below zero": {&journal.HandOver{Ended: []*journal.EndedRequest{{Request: whole, Token: 7, Behind: 8}}},
			"token 7 and a fence 8 behind"},
		"a sharer": {&journal.HandOver{Sharers: []*journal.Sharers{
			{Resource: "r", Token: 1, Requests: [][]byte{whole}}}}, ""},
		"a long sharer": {&journal.HandOver{Sharers: []*journal.Sharers{{Requests: [][]byte{append(whole, 0)}}}},
			"a request of 17 bytes"},
	} {
		t.Run(name, func(t *testing.T) { wantCorrupt(t, test.handOver.Check(), test.want) })
	}
}

// The keys are a part of the stored format.
func TestHandOverKeys(t *testing.T) {
	if got := journal.LeaseKey("orders.42", 7); got != 0x1bef5368ab807d46 {
		t.Errorf("got %#x of a lease", got)
	}
	if got := journal.SessionKey([journal.RequestSize]byte{1, 2, 3, 4, 5, 6, 7, 8, 9}); got != 0x0102030405060708 {
		t.Errorf("got %#x of a session", got)
	}
}
