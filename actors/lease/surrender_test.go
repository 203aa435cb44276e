package lease_test

import (
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/holdfast-io/holdfast/actors/lease"
	"github.com/holdfast-io/holdfast/messages"
)

// A new field of the request has to survive a surrender.
func TestSurrenderGivesAllFieldsBack(t *testing.T) {
	r := &messages.AcquireRequest{
		Owner: "bob", TtlMs: 2000, WaitMs: 3000, RequestId: "x", Durability: messages.Durability_EPHEMERAL,
		Reentrant: true, Metadata: map[string]string{"host": "a"}, Limit: 5, Permits: 2, DelayMs: 9000, Confirm: true,
		Session: "the session of bob", Tokens: 3, MinHoldMs: 7,
		SecretHash: hashOf("a"), Secret: secretOf("a"),
	}
	fields := r.ProtoReflect().Descriptor().Fields()
	for i := range fields.Len() {
		if !r.ProtoReflect().Has(fields.Get(i)) {
			t.Fatalf("%s is not set: the test is vacuous", fields.Get(i).Name())
		}
	}
	s := newState(lease.Image{})
	s.Step(timeAt(0), mustParse("0s ann acquire").steps[0].event())
	s.Step(timeAt(0), lease.Acquire{Request: r, From: messages.ReplyTo{Subject: "bob"}, MaxWaiting: 1})
	got := s.Step(timeAt(0), lease.Surrender{}).Surrendered
	if len(got) != 1 || !proto.Equal(got[0].Request, r) {
		t.Errorf("got %v, want %v", got, r)
	}
}
