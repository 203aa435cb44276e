package holdfast

import (
	"testing"

	"github.com/holdfast-io/holdfast/messages"
)

// A second answer that grants a lease which is being released is no reason to release it once more.
func TestLeaseIsReleasedOnce(t *testing.T) {
	var s handles
	claim, k := messages.Claim{Resource: "r", Token: 5}, lockKey{"r", "me"}
	h := &handle{claim: claim, terms: terms{owner: k.owner}}
	if known, err := s.add(h); known != h || err != nil {
		t.Fatal(known, err)
	}
	if s.releasing(claim, k.owner, nil) {
		t.Error("a lease that has a handle was released without it")
	}
	if !s.releasing(claim, k.owner, h) {
		t.Fatal("its own handle may not release it")
	}
	for _, again := range []messages.Token{5, 4} {
		if s.releasing(messages.Claim{Resource: "r", Token: again}, k.owner, nil) {
			t.Errorf("token %d was released beside token 5", again)
		}
	}
	if later := (messages.Claim{Resource: "r", Token: 6}); !s.releasing(later, k.owner, nil) {
		t.Error("a later grant without a handle was kept")
	}
	s.release(k)
	s.release(k)
	if !s.releasing(claim, k.owner, nil) {
		t.Error("the tombstone is retained for ever")
	}
}
