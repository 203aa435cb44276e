package request

import (
	"testing"

	"github.com/holdfast-io/holdfast/messages"
)

// Each number has a name of its own, and no name of another sender, nor one that was changed, is a number.
func TestNames(t *testing.T) {
	n, other := newNames(), newNames()
	seen := map[string]bool{}
	for id := range uint64(1000) {
		for _, batch := range []bool{false, true} {
			name := n.of(id, batch)
			if got, is, ok := n.number(name); got != id || is != batch || !ok || seen[name] {
				t.Fatalf("%d of a batch %v: %q is %d, %v, %v; used before: %v", id, batch, name, got, is, ok,
					seen[name])
			}
			seen[name] = true
			for _, wrong := range []string{name[1:], name + "A", "B" + name[1:], "C" + name[1:]} {
				if _, _, ok := n.number(wrong); ok && wrong != name {
					t.Errorf("%q is taken for a name", wrong)
				}
			}
			if _, _, ok := other.number(name); ok {
				t.Errorf("another sender knows %q", name)
			}
		}
	}
}

// An answer that does not fit its request is dropped, and the right one is waited for.
func TestForgedAnswers(t *testing.T) {
	const mine, others = "mine", "other"
	lease := func(resource, owner string) *messages.Lease { return &messages.Lease{Resource: resource, Owner: owner} }
	for name, c := range map[string]struct {
		op    messages.Operation
		owner string
		reply *messages.Reply
		batch uint64
		fits  bool
	}{
		"granted": {messages.OpAcquire, mine,
			&messages.Reply{Status: messages.Status_GRANTED, Lease: lease("a b", mine)}, 0, true},
		"granted of another resource": {messages.OpAcquire, mine,
			&messages.Reply{Status: messages.Status_GRANTED, Lease: lease("b", mine)}, 0, false},
		"granted to another owner": {messages.OpAcquire, mine,
			&messages.Reply{Status: messages.Status_GRANTED, Lease: lease("a b", others)}, 0, false},
		"granted of nothing": {messages.OpAcquire, mine, &messages.Reply{Status: messages.Status_GRANTED}, 0,
			false},
		"held": {messages.OpAcquire, mine,
			&messages.Reply{Status: messages.Status_HELD, Lease: lease("a b", others)}, 0, true},
		"held of another resource": {messages.OpAcquire, mine,
			&messages.Reply{Status: messages.Status_HELD, Lease: lease("b", others)}, 0, false},
		"held by another one's holder": {messages.OpGet, "",
			&messages.Reply{Status: messages.Status_HELD, Lease: lease("a b", others),
				Holders: []*messages.Lease{lease("b", others)}}, 0, false},
		"free": {messages.OpGet, "",
			&messages.Reply{Status: messages.Status_FREE, Lease: &messages.Lease{Token: 3}}, 0, true},
		"extended": {messages.OpExtend, mine,
			&messages.Reply{Status: messages.Status_EXTENDED, Lease: lease("a b", mine)}, 0, true},
		"extended for another owner": {messages.OpExtend, mine,
			&messages.Reply{Status: messages.Status_EXTENDED, Lease: lease("a b", others)}, 0, false},
		"kept": {messages.OpKeep, "",
			&messages.Reply{Status: messages.Status_EXTENDED, Held: 3}, 0, true},
		"set of another resource": {messages.OpSet, mine,
			&messages.Reply{Status: messages.Status_UPDATED, Lease: lease("b", mine)}, 0, false},
		"released of another resource": {messages.OpRelease, mine,
			&messages.Reply{Status: messages.Status_EXPIRED, Lease: lease("b", mine)}, 0, false},
		"in answer to another batch": {messages.OpGet, "", &messages.Reply{Status: messages.Status_FREE}, 7, false},
	} {
		t.Run(name, func(t *testing.T) {
			s := Sender{cfg: Config{Orphan: func(*messages.Lease) { t.Error("what was forged is given back") }}}
			received := 0
			a := &attempt{to: Route{op: c.op, key: "a=20b"}, owner: c.owner, receive: func(*Answer) { received++ }}
			s.attempts.add(a)
			s.take(&Answer{ID: a.id, reply: c.reply, decoded: true}, c.batch)
			if got := received == 1; got != c.fits || got == (s.attempts.count() == 1) {
				t.Errorf("it is received: %v, %d answers are expected, want %v", got, s.attempts.count(), c.fits)
			}
		})
	}
}
