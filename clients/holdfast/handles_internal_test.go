package holdfast

import (
	"testing"

	"github.com/holdfast-io/holdfast/messages"
)

func leaseOf(token uint64) *messages.Lease {
	return &messages.Lease{Resource: "r", Owner: "me", Token: token}
}

func sharedLeaseOf(token uint64) *messages.Lease {
	l := leaseOf(token)
	l.Limit, l.Slots = anyLimit, []uint32{0}
	return l
}

func handleOf(l *messages.Lease) *handle {
	return &handle{resource: "r", id: idOf(l), kind: kindOf(l), options: &acquireOptions{owner: "me"}}
}

func (s *handles) mustAdd(t *testing.T, h *handle) *handle {
	t.Helper()
	if known, err := s.add(h); known != h || err != nil {
		t.Fatal(known, err)
	}
	return h
}

// A second answer that grants a lease which is being released is no reason to release it once more.
func TestLeaseIsReleasedOnce(t *testing.T) {
	var s handles
	h := s.mustAdd(t, handleOf(leaseOf(5)))
	if s.releasing(leaseOf(5), nil) {
		t.Error("a lease that has a handle was released without it")
	}
	if !s.releasing(nil, h) {
		t.Fatal("its own handle may not release it")
	}
	if s.releasing(leaseOf(5), nil) {
		t.Error("it was released twice at once")
	}
	if !s.releasing(leaseOf(6), nil) {
		t.Error("a later grant without a handle was kept")
	}
	s.released(h.holder(), h.tokens())
	s.released(h.holder(), [2]Token{6})
	if !s.releasing(leaseOf(5), nil) {
		t.Error("the tombstone is retained for ever")
	}
}

// Of several leases of one owner, the end of one with a higher token says nothing of the others.
func TestLeasesOfOneOwner(t *testing.T) {
	var s handles
	me := holder{"r", "me"}
	request := s.expect(me)
	s.mustAdd(t, handleOf(sharedLeaseOf(5)))
	later := s.mustAdd(t, handleOf(sharedLeaseOf(6)))
	s.releasing(nil, later)
	s.released(me, later.tokens())
	if _, err := s.add(handleOf(sharedLeaseOf(6))); err == nil {
		t.Error("a lease that was released while the request was under way is held again")
	}
	s.mustAdd(t, handleOf(sharedLeaseOf(4)))
	if !s.releasing(sharedLeaseOf(3), nil) {
		t.Error("a grant without a handle was kept")
	}
	s.expectNoMore(me, request)
	s.released(me, [2]Token{3})
	if len(s.tombstones) > 0 {
		t.Errorf("%d tombstones are left", len(s.tombstones))
	}
}

// A tombstone is retained for the requests that began before the release was over, and for no others, however many
// there are.
func TestTombstonesAreFew(t *testing.T) {
	var s tombstones
	for token := range Token(100) {
		before := s.expect()
		s.add(token)
		during := s.expect()
		if s.released(token); !s.has(token) {
			t.Fatal("a request is under way, and there is no tombstone")
		}
		after := s.expect()
		s.expectNoMore(before)
		if !s.has(token) {
			t.Fatal("a request is under way that began during the release, and there is no tombstone")
		}
		s.expectNoMore(during)
		if s.has(token) {
			t.Fatal("there is a tombstone, though all requests began after it")
		}
		s.expectNoMore(after)
	}
}

// While a downgrade is under way, a late grant may be the downgraded lease under its new token. It is released only if
// it turns out that it is not.
func TestLateGrantDuringDowngrade(t *testing.T) {
	var s handles
	h := s.mustAdd(t, handleOf(leaseOf(5)))
	s.downgrading(h.holder())
	for _, token := range []uint64{6, 7} {
		if s.releasing(sharedLeaseOf(token), nil) {
			t.Errorf("token %d was released, and may be the downgraded lease", token)
		}
	}
	s.change(h, func() { h.former, h.id, h.kind = h.id, idOf(sharedLeaseOf(6)), readers })
	var released []uint64
	for _, l := range s.downgraded(h.holder()) {
		if s.releasing(l, nil) {
			released = append(released, l.GetToken())
		}
	}
	if len(released) != 1 || released[0] != 7 {
		t.Errorf("%v were released, want 7 only", released)
	}
	if s.releasing(leaseOf(5), nil) {
		t.Error("the lease was released under its former token")
	}
	if s.releasing(nil, h); s.releasing(leaseOf(5), nil) || s.releasing(sharedLeaseOf(6), nil) {
		t.Error("it was released twice at once")
	}
}

// While a request for a lease with a shortest hold may be granted, no lease of its holder is given back by its token.
func TestOrphansOfAShortestHold(t *testing.T) {
	s := &bareClient(t).handles
	k := holder{"r", "me"}
	first := s.withhold(k)
	s.withhold(k)
	other := leaseOf(7)
	other.Owner = "another"
	if s.releasing(leaseOf(5), nil) || !s.releasing(other, nil) {
		t.Error("a lease is released that may have a shortest hold, or that of another owner is not")
	}
	if first(); s.releasing(leaseOf(6), nil) {
		t.Error("a lease is released while a second request is under way")
	}
	if left := s.withheldOver(k); len(left) != 2 || !s.releasing(left[0], nil) {
		t.Errorf("%d leases are to be given back, want 2; or they are withheld on", len(left))
	}
}
