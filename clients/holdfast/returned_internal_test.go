package holdfast

import (
	"testing"

	"github.com/holdfast-io/holdfast/messages"
)

// A second answer that grants a lease which is being released is no reason to release it once more.
func TestLeaseIsGivenBackOnce(t *testing.T) {
	c := &Client{holds: make(map[messages.Claim]*hold), shared: make(map[party]*hold), returned: make(map[party]*returned)}
	claim, p := messages.Claim{Resource: "r", Token: 5}, party{"r", "me"}
	h := &hold{c: c, claim: claim, terms: terms{owner: p.owner}}
	c.holds[claim] = h
	if c.returns(claim, p.owner, nil) {
		t.Error("a lease that is held was given back")
	}
	if !c.returns(claim, p.owner, h) {
		t.Fatal("its own hold may not give it back")
	}
	for _, again := range []messages.Token{5, 4} {
		if c.returns(messages.Claim{Resource: "r", Token: again}, p.owner, nil) {
			t.Errorf("token %d was given back beside token 5", again)
		}
	}
	if later := (messages.Claim{Resource: "r", Token: 6}); !c.returns(later, p.owner, nil) {
		t.Error("a later grant to nobody was kept")
	}
	c.forgive(p)
	c.forgive(p)
	if !c.returns(claim, p.owner, nil) {
		t.Error("it is remembered for ever")
	}
}
