package lease_test

import (
	"slices"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/holdfast-io/holdfast/actors/lease"
	"github.com/holdfast-io/holdfast/messages"
	"github.com/holdfast-io/holdfast/messages/journal"
)

// A shrunk resource answers as the whole one does.
func TestShrunkAnswersAlike(t *testing.T) {
	for _, given := range []string{
		"", "floor 7",
		"0s ann acquire id=x; 100ms ann release",
		"0s ann acquire; 1s node tick",
		"0s ann acquire; 50ms ann extend limit=5; 100ms ann release",
		"0s ann acquire; 100ms op break token=1",
		"0s ann acquire hash=a; 100ms ann release secret=a",
		"0s ann acquire; 100ms ann release; 200ms bob acquire; 300ms bob release",
		"0s ann acquire tokens=4; 100ms ann release", "0s ann acquire tokens=4; 100ms op break token=2",
		"0s ann acquire tokens=4; 50ms ann extend limit=5; 100ms ann release",
		"0s ann acquire hold=500ms; 100ms ann release; 500ms node tick",
		"0s ann acquire hold=5s; 1s node tick; 5s node tick",
	} {
		whole := playOut(t, mustParse(given)).state.Image()
		shrunk := whole.Shrink()
		if again := shrunk.Shrink(); !sameImage(again, shrunk) || again.OwnerDigest != shrunk.OwnerDigest {
			t.Errorf("%q: shrunk twice it is %+v, once %+v", given, again, shrunk)
		}
		for _, when := range []string{
			"9s ann release", "9s ann release token=1", "9s ann release token=2", "9s bob release",
			"9s ann release secret=a", "9s ann release secret=b token=1", "9s ann extend secret=a token=1",
			"9s ann extend", "9s bob extend", "9s op get", "9s op break token=1", "9s op break token=2",
			"9s op break token=4", "9s op break token=5", "9s ann release token=5", "9s ann extend token=5",
			"9s ann acquire id=y", "9s bob acquire",
		} {
			event := mustParse(when).steps[0]
			got := said(newState(shrunk).Step(timeAt(event.at), event.event()))
			want := said(newState(whole).Step(timeAt(event.at), event.event()))
			if !slices.Equal(got, want) {
				t.Errorf("%q, shrunk, then %q: got %q, want %q", given, when, got, want)
			}
		}
	}
}

// Nothing is kept whose size a client chooses, but the resource's name.
func TestShrunkIsSmall(t *testing.T) {
	image := lease.Restore(&journal.Entry{State: messages.Event_RELEASED, Grant: &journal.Grant{
		Resource: resource, Owner: "ann", Token: 7, TtlMs: 1000, AcquiredAtMs: 1, RequestId: "x",
		Metadata: map[string]string{"k": "v"},
	}})
	shrunk := image.Shrink()
	if want := (&journal.Grant{Resource: resource, Token: 7}); !proto.Equal(shrunk.Last().Grant, want) {
		t.Errorf("got %v, want %v", shrunk.Last().Grant, want)
	}
}

// Of a block the last token stays, and the one that names it.
func TestShrunkBlock(t *testing.T) {
	whole := playOut(t, mustParse("floor 6; 0s ann acquire tokens=4; 100ms ann release")).state.Image()
	shrunk := whole.Shrink()
	if want := (&journal.Grant{Resource: resource, Token: 10, Former: 7}); !proto.Equal(shrunk.Last().Grant, want) {
		t.Errorf("got %v, want %v", shrunk.Last().Grant, want)
	}
}

// A lease that is held, or whose shortest hold is not over, stays whole.
func TestHeldIsNotShrunk(t *testing.T) {
	for _, given := range []string{"0s ann acquire id=x", "0s ann acquire id=x hold=5s; 100ms ann release"} {
		image := playOut(t, mustParse(given)).state.Image()
		if shrunk := image.Shrink(); !sameImage(shrunk, image) || shrunk.OwnerDigest != 0 {
			t.Errorf("%+v became %+v", image, shrunk)
		}
	}
}
