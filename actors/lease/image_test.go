package lease_test

import (
	"slices"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/holdfast-io/holdfast/actors/lease"
	"github.com/holdfast-io/holdfast/messages"
	"github.com/holdfast-io/holdfast/messages/journal"
)

// Everything that was asked for is in the record, and all of it but the request's id in the answer.
func TestGrantInFull(t *testing.T) {
	s := newState(lease.Image{Floor: 6})
	now := lease.Time{Instant: lease.Instant(time.Hour), UnixMillis: 1_700_000_000_123}
	metadata := map[string]string{"host": "a1", "pid": "77"}
	to := messages.ReplyTo{Subject: "_INBOX.1"}

	o := s.Step(now, lease.Acquire{From: to, Request: &messages.AcquireRequest{
		Owner: "ann", TtlMs: 30_000, WaitMs: 1, RequestId: "x",
		Reentrant: true, Metadata: metadata,
	}})

	grant := &journal.Grant{
		Resource: resource, Owner: "ann", Token: 7, TtlMs: 30_000, AcquiredAtMs: now.UnixMillis,
		Metadata: metadata, RequestId: "x",
	}
	shown := &messages.Lease{
		Resource: resource, Owner: "ann", Token: 7, Fence: "000000000000007", TtlMs: 30_000, RemainingMs: 30_000,
		AcquiredAtMs: now.UnixMillis, Metadata: metadata,
	}
	wantChange(t, o, &journal.Change{Kind: messages.Event_ACQUIRED, Grant: grant})
	wantReply(t, o, &messages.Reply{Status: messages.Status_GRANTED, Lease: shown})
	if o.Answers[0].To != to {
		t.Errorf("answered to %v", o.Answers[0].To)
	}

	later := lease.Time{Instant: now.Add(time.Second), UnixMillis: now.UnixMillis - 5000} // the wall clock jumps
	o = s.Step(later, lease.Extend{From: to, Request: &messages.ExtendRequest{Owner: "ann", Token: 7, TtlMs: 60_000}})
	grant.TtlMs, shown.TtlMs, shown.RemainingMs = 60_000, 60_000, 60_000
	wantChange(t, o, &journal.Change{Kind: messages.Event_EXTENDED, Grant: grant})
	wantReply(t, o, &messages.Reply{Status: messages.Status_EXTENDED, Lease: shown})

	o = s.Step(later, lease.Break{From: to, Request: &messages.BreakRequest{Token: 7, Reason: "stuck"}})
	wantChange(t, o, &journal.Change{Kind: messages.Event_BROKEN, Grant: grant, Reason: "stuck"})
	wantReply(t, o, &messages.Reply{Status: messages.Status_RELEASED})

	o = s.Step(later, lease.Get{From: to, Request: &messages.GetRequest{}})
	wantReply(t, o, &messages.Reply{Status: messages.Status_FREE, Lease: &messages.Lease{
		Resource: resource, Token: 7, Fence: "000000000000007",
	}})
}

func TestErrorsTellWhy(t *testing.T) {
	for _, tc := range []struct{ name, given, when, want string }{
		{"exhausted", "floor 900_000_000_000_000", "0s ann acquire",
			`resource "orders.42": its tokens have reached 900000000000000, the last there is; use another name`},
		{"overloaded", "0s ann acquire; 0s bob acquire wait=1s", "0s cid acquire wait=1s room=1",
			`resource "orders.42": 1 requests wait already, the most that may`},
		{"no grant", "", "0s ann acquire nogrant=full",
			"full"},
		{"no wait", "0s ann acquire", "0s bob acquire wait=1s nowait=full",
			"full"},
		{"dismissed", "0s ann acquire; 0s bob acquire wait=1s", "0s node dismiss why=moving",
			"moving"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			o := playOut(t, mustParse(tc.given)).step(t, mustParse(tc.when).steps[0])
			if got := o.Answers[0].Reply.GetError(); got != tc.want {
				t.Errorf("got  %s\nwant %s", got, tc.want)
			}
		})
	}
}

// A new owner does not know how much of the TTL has passed, so it runs anew, and never ends early.
func TestRestart(t *testing.T) {
	image := playOut(t, mustParse("0s ann acquire; 500ms ann extend ttl=3s")).state.Image()
	image.Restart(100)
	if want := lease.Instant(100).Add(3 * time.Second); image.Deadline != want || !image.Held() {
		t.Errorf("held: %v, until %v, want %v", image.Held(), image.Deadline, want)
	}

	s := newState(image)
	if o := s.Step(timeAt(image.Deadline-1), lease.Tick{}); len(said(o)) > 0 {
		t.Errorf("before the deadline: %v", said(o))
	}
	if got, want := said(s.Step(timeAt(image.Deadline), lease.Tick{})), []string{"EXPIRED ann#1 3s"}; !slices.Equal(got, want) {
		t.Errorf("at the deadline: %v", got)
	}
}

func TestRestartOfFree(t *testing.T) {
	for _, given := range []string{"", "floor 7", "0s ann acquire; 0s ann release", "0s ann acquire; 1s node tick"} {
		before := playOut(t, mustParse(given)).state.Image()
		after := before
		after.Restart(100)
		if !sameImage(after, before) || after.Held() {
			t.Errorf("%q: %+v became %+v", given, before, after)
		}
	}
}

// Of the floor and the last grant, the higher one counts: a grant may be out of a page whose shard
// has a higher floor.
func TestTokenOfImage(t *testing.T) {
	for _, tc := range []struct {
		image lease.Image
		want  messages.Token
	}{
		{lease.Image{}, 0},
		{lease.Image{Floor: 7}, 7},
		{lease.Image{Grant: &journal.Grant{Token: 5}}, 5},
		{lease.Image{Grant: &journal.Grant{Token: 5}, Floor: 7}, 7},
		{lease.Image{Grant: &journal.Grant{Token: 9}, Floor: 7}, 9},
	} {
		if got := tc.image.Token(); got != tc.want {
			t.Errorf("%+v: token %d, want %d", tc.image, uint64(got), uint64(tc.want))
		}
		s := newState(tc.image)
		o := s.Step(timeAt(0), mustParse("0s ann acquire").steps[0].event())
		if got := messages.Token(o.Changes[0].GetGrant().GetToken()); got != tc.want+1 {
			t.Errorf("%+v: granted %d", tc.image, uint64(got))
		}
		if image := s.Image(); image.Floor != 0 {
			t.Errorf("%+v: the floor is still %d, below the last token", tc.image, uint64(image.Floor))
		}
	}
}

func wantChange(t *testing.T, o lease.Outcome, want *journal.Change) {
	t.Helper()
	if len(o.Changes) != 1 || !proto.Equal(o.Changes[0], want) {
		t.Errorf("changes %v\nwant    %v", o.Changes, want)
	}
}

func wantReply(t *testing.T, o lease.Outcome, want *messages.Reply) {
	t.Helper()
	if len(o.Answers) != 1 || !proto.Equal(o.Answers[0].Reply, want) {
		t.Errorf("answers %v\nwant    %v", o.Answers, want)
	}
}
