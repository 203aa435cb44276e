package lease_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-io/holdfast/actors/lease"
	"github.com/holdfast-io/holdfast/messages"
	"github.com/holdfast-io/holdfast/messages/journal"
)

// Leases with more than one token.
var blockRows = []row{
	{"acquire", "floor 6", "0s ann acquire tokens=4", "ACQUIRED ann#7..10 1s; ann: GRANTED ann#7..10 1s/1s"},
	{"one token is no block", "", "0s ann acquire tokens=1", "ACQUIRED ann#1 1s; ann: GRANTED ann#1 1s/1s"},
	{"a request that waits", "0s ann acquire; 0s bob acquire wait=1s tokens=3", "0s ann release",
		"RELEASED ann#1 1s; ACQUIRED bob#2..4 1s; bob: GRANTED bob#2..4 1s/1s doubted; ann: RELEASED"},
	{"the same request again", "0s ann acquire tokens=4 id=x", "100ms ann acquire tokens=4 id=x",
		"ann: GRANTED ann#1..4 900ms/1s"},
	{"the same request again, which asks for more", "0s ann acquire tokens=4 id=x", "100ms ann acquire tokens=9 id=x",
		"ann: GRANTED ann#1..4 900ms/1s"},
	{"others see it", "0s ann acquire tokens=4", "100ms bob acquire", "bob: HELD ann#1..4 900ms/1s"},
	{"a reentrant request does not get it", "0s ann acquire tokens=4", "100ms ann acquire reentrant",
		"ann: HELD ann#1..4 900ms/1s"},
	{"a reentrant request does not get what has grown", "0s ann acquire; 0s ann extend tokens=2",
		"100ms ann acquire reentrant",
		"ann: HELD ann#1..2 900ms/1s"},
	{"a reentrant request gets a lease of one token", "0s ann acquire tokens=1", "0s ann acquire reentrant ttl=2s",
		"EXTENDED ann#1 2s; ann: GRANTED ann#1 2s/2s"},

	{"the next one, after a release", "0s ann acquire tokens=4; 0s ann release", "0s bob acquire",
		"ACQUIRED bob#5 1s; bob: GRANTED bob#5 1s/1s"},
	{"the next one, after a release of what has grown",
		"0s ann acquire tokens=4; 0s ann extend tokens=9; 0s ann release", "0s bob acquire",
		"ACQUIRED bob#10 1s; bob: GRANTED bob#10 1s/1s"},
	{"the next one, after it expired", "0s ann acquire tokens=4", "1s bob acquire tokens=2",
		"EXPIRED ann#1..4 1s; ACQUIRED bob#5..6 1s; bob: GRANTED bob#5..6 1s/1s"},
	{"the next one, after a break", "0s ann acquire tokens=4; 0s op break token=1", "0s bob acquire limit=3",
		"ACQUIRED bob#5[0]/3@5 1s; bob: GRANTED bob#5[0]/3@5 1s/1s"},
	{"the next one, after the client was gone", "0s ann acquire tokens=4 batched; 0s node undeliverable token=1",
		"0s bob acquire",
		"ACQUIRED bob#5 1s; bob: GRANTED bob#5 1s/1s"},
	{"the next one, after a withdrawal", "0s ann acquire tokens=4 id=x; 0s ann release id=x", "0s bob acquire",
		"ACQUIRED bob#5 1s; bob: GRANTED bob#5 1s/1s"},
	{"the next one, after a change of owner", "0s ann acquire tokens=4; 0s node takeover; 0s ann release",
		"0s bob acquire",
		"ACQUIRED bob#5 1s; bob: GRANTED bob#5 1s/1s"},
	{"taken back", "0s ann acquire tokens=4 delay=5s; 1s node tick", "1s ann acquire tokens=2",
		`CONFIRMED ann#1..4 1s "taken back by its owner"; ACQUIRED ann#5..6 1s; ann: GRANTED ann#5..6 1s/1s`},
	{"held back", "0s ann acquire tokens=4 delay=5s; 1s node tick", "1s bob acquire",
		"bob: HELD_BACK ann#1..4 0s/1s left=5s"},
	{"a free resource shows the last token", "0s ann acquire tokens=4; 0s ann release", "0s op get", "op: FREE #4"},

	{"growth", "0s ann acquire tokens=4; 100ms ann extend token=1 tokens=8", "200ms ann extend token=1 tokens=16 ttl=2s",
		"EXTENDED ann#1..16 2s; ann: EXTENDED ann#1..16 2s/2s"},
	{"growth of a lease with one token", "0s ann acquire", "0s ann extend tokens=3",
		"EXTENDED ann#1..3 1s; ann: EXTENDED ann#1..3 1s/1s"},
	{"a smaller number", "0s ann acquire tokens=4", "0s ann extend tokens=3",
		"EXTENDED ann#1..4 1s; ann: EXTENDED ann#1..4 1s/1s"},
	{"the same number", "0s ann acquire tokens=4", "0s ann extend tokens=4",
		"EXTENDED ann#1..4 1s; ann: EXTENDED ann#1..4 1s/1s"},
	{"one token of one", "0s ann acquire", "0s ann extend tokens=1", "EXTENDED ann#1 1s; ann: EXTENDED ann#1 1s/1s"},
	{"no number", "0s ann acquire tokens=4", "0s ann extend", "EXTENDED ann#1..4 1s; ann: EXTENDED ann#1..4 1s/1s"},
	{"a set keeps them", "0s ann acquire tokens=4", "100ms ann set meta=busy",
		"UPDATED ann#1..4{busy} 1s; ann: UPDATED ann#1..4{busy} 900ms/1s"},
	{"as many as an extend may add", "0s ann acquire tokens=1000000", "0s ann extend tokens=2000000",
		"EXTENDED ann#1..2000000 1s; ann: EXTENDED ann#1..2000000 1s/1s"},
	{"more than an extend may add", "0s ann acquire", "0s ann extend tokens=1000002", "ann: INVALID"},
	{"of a shared lease", "0s ann acquire limit=3", "0s ann extend tokens=2", "ann: INVALID"},
	{"of another owner", "0s ann acquire tokens=4", "0s bob extend tokens=8", "bob: NOT_OWNER ann#1..4 1s/1s"},
	{"at the deadline: nothing comes back", "0s ann acquire tokens=4", "1s ann extend tokens=8",
		"EXPIRED ann#1..4 1s; ann: EXPIRED"},
	{"with another token of the block", "0s ann acquire tokens=4", "0s ann extend token=2 tokens=8",
		"ann: STALE_TOKEN ann#1..4 1s/1s"},
	{"of a grant that is in doubt: it is known now",
		"0s ann acquire tokens=4 batched; 0s ann extend tokens=8 from=q1", "0s node undeliverable token=1",
		""},

	{"late growth counts, and nothing else of it does",
		"0s ann acquire tokens=4; 100ms ann extend order=2 ttl=5s", "200ms ann extend order=1 ttl=100ms tokens=8",
		"UPDATED ann#1..8 5s orders=2,0; ann: EXTENDED ann#1..8 4.9s/5s order=2"},
	{"late, with no more than there are", "0s ann acquire tokens=4; 0s ann extend order=2 ttl=5s",
		"0s ann extend order=1 tokens=4",
		"ann: EXTENDED ann#1..4 5s/5s order=2"},
	{"late, with one token of one", "0s ann acquire; 0s ann extend order=2 ttl=5s", "0s ann extend order=1 tokens=1",
		"ann: EXTENDED ann#1 5s/5s order=2"},
	{"late, with more than an extend may add", "0s ann acquire; 0s ann extend order=2",
		"0s ann extend order=1 tokens=1000002",
		"ann: INVALID"},
	{"late, without a token left",
		"floor 899_999_999_999_999; 0s ann acquire; 0s ann extend order=2", "0s ann extend order=1 tokens=2",
		"ann: EXHAUSTED"},
	{"late growth of a grant that is in doubt: it is known now",
		"0s ann acquire batched; 0s ann extend order=2 from=q1; 0s ann extend order=1 tokens=2 from=q2",
		"0s node undeliverable token=1",
		""},

	{"the last tokens", "floor 899_999_999_999_996", "0s ann acquire tokens=4",
		"ACQUIRED ann#899999999999997..900000000000000 1s; " +
			"ann: GRANTED ann#899999999999997..900000000000000 1s/1s"},
	{"a block that does not fit", "floor 899_999_999_999_997", "0s ann acquire tokens=4", "ann: EXHAUSTED"},
	{"a block that waited and does not fit, and one that does",
		"floor 899_999_999_999_996; 0s ann acquire; 0s bob acquire wait=1s tokens=4; 0s cid acquire wait=1s tokens=3",
		"0s ann release",
		`RELEASED ann#899999999999997 1s
		 ACQUIRED cid#899999999999998..900000000000000 1s
		 bob: EXHAUSTED waiting=1
		 cid: GRANTED cid#899999999999998..900000000000000 1s/1s doubted
		 ann: RELEASED`},
	{"the last growth", "floor 899_999_999_999_996; 0s ann acquire tokens=2", "0s ann extend tokens=4",
		"EXTENDED ann#899999999999997..900000000000000 1s; " +
			"ann: EXTENDED ann#899999999999997..900000000000000 1s/1s"},
	{"a growth that does not fit", "floor 899_999_999_999_996; 0s ann acquire tokens=2", "0s ann extend tokens=5",
		"ann: EXHAUSTED"},
	{"after it the lease is as it was", "floor 899_999_999_999_996; 0s ann acquire tokens=2; 100ms ann extend tokens=5",
		"200ms op get",
		"op: HELD ann#899999999999997..899999999999998 800ms/1s"},
	{"not taken back without a token left", "floor 899_999_999_999_998; 0s ann acquire delay=5s; 1s node tick",
		"1s ann acquire tokens=2",
		"ann: HELD_BACK ann#899999999999999 0s/1s left=5s"},
	{"no downgrade without a token left", "floor 899_999_999_999_998; 0s ann acquire tokens=2", "0s ann extend limit=3",
		"ann: EXHAUSTED"},

	{"a downgrade takes the token behind it, and leaves no block", "0s ann acquire tokens=4",
		"100ms ann extend token=1 limit=3",
		`RELEASED ann#1..4 1s "downgraded"
		 ACQUIRED ann#5[0]/3@5 1s former=1
		 ann: EXTENDED ann#5[0]/3@5 1s/1s`},
	{"a downgrade again, with the former token", "0s ann acquire tokens=4; 0s ann extend token=1 limit=3",
		"0s ann extend token=1 limit=3",
		"EXTENDED ann#5[0]/3@5 1s former=1; ann: EXTENDED ann#5[0]/3@5 1s/1s"},
	{"a downgraded lease has no other token of the block", "0s ann acquire tokens=4; 0s ann extend token=1 limit=3",
		"0s op break token=4",
		"op: STALE_TOKEN ann#5[0]/3@5 1s/1s"},
	{"late, a downgrade leaves no block",
		"0s ann acquire tokens=4; 0s ann extend order=2 ttl=5s", "0s ann extend order=1 limit=3",
		`RELEASED ann#1..4 5s orders=2,0 "downgraded"
		 ACQUIRED ann#5[0]/3@5 5s former=1 orders=2,0
		 ann: EXTENDED ann#5[0]/3@5 5s/5s order=2`},

	{"release by the first token", "0s ann acquire tokens=4", "0s ann release token=1",
		"RELEASED ann#1..4 1s; ann: RELEASED"},
	{"release by another token", "0s ann acquire tokens=4", "0s ann release token=2", "ann: STALE_TOKEN ann#1..4 1s/1s"},
	{"release by the last token", "0s ann acquire tokens=4", "0s ann release token=4",
		"ann: STALE_TOKEN ann#1..4 1s/1s"},
	{"released again by the first token", "0s ann acquire tokens=4; 0s ann release token=1", "0s ann release token=1",
		"ann: RELEASED"},
	{"released again by the last token", "0s ann acquire tokens=4; 0s ann release token=1", "0s ann release token=4",
		"ann: NOT_HELD"},
	{"set by another token", "0s ann acquire tokens=4", "0s ann set token=2 meta=busy",
		"ann: STALE_TOKEN ann#1..4 1s/1s"},
	{"break by another token", "0s ann acquire tokens=4", "0s op break token=3 why=stuck",
		`BROKEN ann#1..4 1s "stuck"; op: RELEASED`},
	{"break by the last token of what has grown", "0s ann acquire tokens=4; 0s ann extend tokens=8",
		"0s op break token=8",
		"BROKEN ann#1..8 1s; op: RELEASED"},
	{"break by the token behind it", "0s ann acquire tokens=4", "0s op break token=5", "op: STALE_TOKEN ann#1..4 1s/1s"},
	{"break by the token before it", "0s ann acquire; 0s ann release; 0s bob acquire tokens=4", "0s op break token=1",
		"op: STALE_TOKEN bob#2..5 1s/1s"},
	{"broken again, by another token", "0s ann acquire tokens=4; 0s op break token=3", "0s op break token=2",
		"op: RELEASED"},
	{"confirm by another token", "0s ann acquire tokens=4 confirmed; 1s node tick", "1s op confirm token=3",
		`CONFIRMED ann#1..4 1s "op"; op: RELEASED`},
	{"confirmed again, by another token", "0s ann acquire tokens=4 confirmed; 1s op confirm token=3",
		"1s op confirm token=2",
		"op: RELEASED"},
	{"confirm by the token behind it", "0s ann acquire tokens=4 confirmed; 1s node tick", "1s op confirm token=5",
		"op: STALE_TOKEN ann#1..4 0s/1s"},
	{"the client was gone, by another token", "0s ann acquire tokens=4 batched", "0s node undeliverable token=2", ""},
}

// Behind a lease of a backup that is restored others may have been granted since: it gets no token that may be one of
// theirs. A downgrade, and the next grant, are behind all of them.
func TestRestoredLeaseDoesNotGrow(t *testing.T) {
	g := &journal.Grant{Resource: resource, Owner: "ann", Token: 3, Tokens: 4, TtlMs: 1000}
	restored := func() *lease.State {
		image := lease.Restore(&journal.Entry{Grant: g, State: messages.Event_ACQUIRED, Reserved: 1000})
		image.Restart(0, nil)
		return newState(image)
	}
	for _, tc := range []struct{ when, want string }{
		{"0s ann extend tokens=5", "ann: EXHAUSTED"},
		{"0s ann extend tokens=4", "EXTENDED ann#3..6 1s; ann: EXTENDED ann#3..6 1s/1s"},
		{"0s ann extend limit=2", `RELEASED ann#3..6 1s "downgraded"
			ACQUIRED ann#1001[0]/2@1001 1s former=3
			ann: EXTENDED ann#1001[0]/2@1001 1s/1s`},
	} {
		step := mustParse(tc.when).steps[0]
		o := restored().Step(step.time(), step.event())
		if got := said(o); !slices.Equal(got, lines(tc.want)) {
			t.Errorf("%s: got %q, want %q", tc.when, got, tc.want)
		}
	}
	step := mustParse("0s ann extend tokens=5").steps[0]
	got := restored().Step(step.time(), step.event()).Answers[0].Reply.GetError()
	want := `resource "orders.42": tokens behind 6, the last one of the lease, may have been issued before a restore; ` +
		"release it and acquire another"
	if got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

// A block of an ephemeral lease is recorded as reserved before its answer, and so is what it grows by.
func TestEphemeralBlock(t *testing.T) {
	s := newState(lease.Image{Floor: 6})
	for i, tc := range []struct {
		when      string
		want      string
		ephemeral bool
	}{
		{"0s ann acquire ephemeral tokens=10", "reserved #1015; ann: GRANTED ann#7..16 1s/1s", false},
		{"0s ann extend tokens=1009", "ann: EXTENDED ann#7..1015 1s/1s", true},
		{"0s ann extend tokens=1010", "reserved #2015; ann: EXTENDED ann#7..1016 1s/1s", false},
		{"0s ann extend order=2", "ann: EXTENDED ann#7..1016 1s/1s order=2", true},
		{"0s ann extend order=1 tokens=5000", "reserved #6005; ann: EXTENDED ann#7..5006 1s/1s order=2", false},
		{"0s ann release token=7", "ann: RELEASED", true},
		{"0s op get", "op: FREE #5006", false},
		{"0s bob acquire ephemeral tokens=999", "bob: GRANTED bob#5007..6005 1s/1s", true},
		{"0s bob extend limit=3", "reserved #7005; bob: EXTENDED bob#6006[0]/3@6006 1s/1s", false},
		{"0s bob release", "bob: RELEASED", true},
		{"0s cid acquire ephemeral tokens=1000000", "reserved #1007005; cid: GRANTED cid#6007..1006006 1s/1s", false},
		{"1s dan acquire", "ACQUIRED dan#1006007 1s; dan: GRANTED dan#1006007 1s/1s", false},
	} {
		step := mustParse(tc.when).steps[0]
		o := s.Step(step.time(), step.event())
		if got := said(o); !slices.Equal(got, lines(tc.want)) || o.Ephemeral != tc.ephemeral {
			t.Errorf("step %d, %s:\ngot  %q ephemeral %v\nwant %q ephemeral %v", i, tc.when, got, o.Ephemeral, tc.want,
				tc.ephemeral)
		}
	}
}

// A client cannot use up the tokens of a name: beyond a hundred million at once, its blocks take ten million a second.
func TestBlocksAreBounded(t *testing.T) {
	s := newState(lease.Image{})
	at := func(after time.Duration, e lease.Event) *messages.Reply {
		t.Helper()
		answers := s.Step(timeAt(lease.Instant(after)), e).Answers
		if len(answers) != 1 {
			t.Fatalf("%d answers", len(answers))
		}
		return answers[0].Reply
	}
	acquire := func(tokens uint32) lease.Acquire {
		return lease.Acquire{Request: &messages.AcquireRequest{Owner: "ann", TtlMs: 60_000, Tokens: tokens}}
	}
	grow := func(tokens uint32) lease.Extend {
		return lease.Extend{Request: &messages.ExtendRequest{Owner: "ann", TtlMs: 60_000, Tokens: tokens}}
	}
	release := lease.Release{Request: &messages.ReleaseRequest{Owner: "ann"}}
	check := func(got *messages.Reply, want messages.Status) {
		t.Helper()
		if got.GetStatus() != want {
			t.Fatalf("%v %s, want %v", got.GetStatus(), got.GetError(), want)
		}
	}

	check(at(0, acquire(messages.MaxBlock)), messages.Status_GRANTED)
	for n := range uint32(99) {
		check(at(0, grow((n+2)*messages.MaxBlock)), messages.Status_EXTENDED)
	}
	refused := at(0, grow(101*messages.MaxBlock))
	check(refused, messages.Status_OVERLOADED)
	if want := "take more than 10000000 tokens a second"; !strings.Contains(refused.GetError(), want) {
		t.Errorf("%q does not say %q", refused.GetError(), want)
	}
	check(at(0, grow(0)), messages.Status_EXTENDED) // one that asks for no more tokens goes on
	check(at(0, release), messages.Status_RELEASED)
	check(at(0, acquire(2)), messages.Status_OVERLOADED)
	check(at(99*time.Millisecond, acquire(messages.MaxBlock)), messages.Status_OVERLOADED)
	check(at(100*time.Millisecond, acquire(messages.MaxBlock)), messages.Status_GRANTED)
	check(at(100*time.Millisecond, release), messages.Status_RELEASED)
	check(at(100*time.Millisecond, acquire(1)), messages.Status_GRANTED)
}
