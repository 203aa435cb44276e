package lease_test

import (
	"fmt"
	"math"
	"slices"
	"strings"
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

// So is what was asked for a shared lease, and what it was before it was downgraded.
func TestSharedGrantInFull(t *testing.T) {
	s := newState(lease.Image{Floor: 6})
	now := lease.Time{Instant: lease.Instant(time.Hour), UnixMillis: 1_700_000_000_123}
	metadata := map[string]string{"host": "a1"}
	request := &messages.AcquireRequest{
		Owner: "ann", TtlMs: 30_000, RequestId: "x", Metadata: metadata, Limit: 3, Permits: 2,
	}
	o := s.Step(now, lease.Acquire{Request: request})
	grant := &journal.Grant{
		Resource: resource, Owner: "ann", Token: 7, TtlMs: 30_000, AcquiredAtMs: now.UnixMillis,
		Metadata: metadata, RequestId: "x", Limit: 3, Slots: []uint32{0, 1}, Phase: 7,
	}
	shown := &messages.Lease{
		Resource: resource, Owner: "ann", Token: 7, Fence: "000000000000007", TtlMs: 30_000, RemainingMs: 30_000,
		AcquiredAtMs: now.UnixMillis, Metadata: metadata, Limit: 3, Slots: []uint32{0, 1},
	}
	wantChange(t, o, &journal.Change{Kind: messages.Event_ACQUIRED, Grant: grant})
	wantReply(t, o, &messages.Reply{Status: messages.Status_GRANTED, Lease: shown})
	wantReply(t, s.Step(now, lease.Get{Request: &messages.GetRequest{}}), &messages.Reply{
		Status: messages.Status_HELD, Lease: shown, Holders: []*messages.Lease{shown}, Held: 2,
	})

	later := lease.Time{Instant: now.Add(time.Second), UnixMillis: now.UnixMillis + 1000}
	o = s.Step(later, lease.Extend{Request: &messages.ExtendRequest{Owner: "ann", Token: 7, TtlMs: 60_000, Limit: 5}})
	if want := (&journal.Change{Kind: messages.Event_RELEASED, Grant: grant, Reason: "downgraded"}); !proto.Equal(o.Changes[0], want) {
		t.Errorf("got %v, want %v", o.Changes[0], want)
	}
	grant = proto.CloneOf(grant)
	grant.Token, grant.Phase, grant.Former, grant.Limit, grant.TtlMs, grant.AcquiredAtMs = 8, 8, 7, 5, 60_000,
		later.UnixMillis
	shown = proto.CloneOf(shown)
	shown.Token, shown.Fence, shown.Limit, shown.TtlMs, shown.RemainingMs = 8, "000000000000008", 5, 60_000, 60_000
	shown.AcquiredAtMs = later.UnixMillis
	o.Changes = o.Changes[1:]
	wantChange(t, o, &journal.Change{Kind: messages.Event_ACQUIRED, Grant: grant})
	wantReply(t, o, &messages.Reply{Status: messages.Status_EXTENDED, Lease: shown})
}

func TestErrorsTellWhy(t *testing.T) {
	for _, tc := range []struct{ name, given, when, want string }{
		{"exhausted", "floor 900_000_000_000_000", "0s ann acquire",
			`resource "orders.42": its tokens have reached 900000000000000, and the last one is 900000000000000; use another name`},
		{"overloaded", "0s ann acquire; 0s bob acquire wait=1s", "0s cid acquire wait=1s room=1",
			`resource "orders.42": 1 requests wait already, the most that may`},
		{"no grant", "", "0s ann acquire nogrant=full",
			"full"},
		{"no wait", "0s ann acquire", "0s bob acquire wait=1s nowait=full",
			"full"},
		{"not alone", "0s ann acquire limit=5; 0s bob acquire limit=5", "0s ann extend limit=7",
			"limit: 5, that of the lease, while 2 leases are held: only a lease that is held alone is downgraded, got 7"},
		{"falling", "0s ann acquire limit=5", "0s ann extend limit=3",
			"limit: at least 5, that of the lease, which never falls: release the lease and acquire another, got 3"},
		{"several", "0s ann acquire limit=5; 0s ann acquire limit=5", "0s ann release",
			"token: that of one of the 2 leases that the owner holds, got 0"},
		{"exhausted by a downgrade", "floor 899_999_999_999_999; 0s ann acquire", "0s ann extend limit=7",
			`resource "orders.42": its tokens have reached 900000000000000, and the last one is 900000000000000; use another name`},
		{"a block that does not fit", "floor 899_999_999_999_997", "0s ann acquire tokens=4",
			`resource "orders.42": its tokens have reached 899999999999997, and the last one is 900000000000000; use another name`},
		{"more than an extend may add", "0s ann acquire tokens=4", "0s ann extend tokens=1000005",
			"tokens: at most 1000004, which is 1000000 more than the lease has, got 1000005"},
		{"tokens of a shared lease", "0s ann acquire limit=3", "0s ann extend tokens=2",
			"tokens: none of a shared lease, which has one token, got 2"},
		{"a downgrade of a lease with a shortest hold", "0s ann acquire hold=500ms", "0s ann extend limit=3",
			"limit: 1, that of the lease, which has a shortest hold: release it and acquire another, got 3"},
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
	image.Restart(100, nil)
	if want := lease.Instant(100).Add(3 * time.Second); image.Last().Deadline != want || !image.Held() {
		t.Errorf("held: %v, until %v, want %v", image.Held(), image.Last().Deadline, want)
	}

	s := newState(image)
	if o := s.Step(timeAt(image.Last().Deadline-1), lease.Tick{}); len(said(o)) > 0 {
		t.Errorf("before the deadline: %v", said(o))
	}
	if got, want := said(s.Step(timeAt(image.Last().Deadline), lease.Tick{})),
		[]string{"EXPIRED ann#1 3s"}; !slices.Equal(got, want) {
		t.Errorf("at the deadline: %v", got)
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

// shared is an image with leases 3, 5 and 6, of which 4 permits are held, and with lease 7, which has ended.
func shared(t *testing.T) lease.Image {
	t.Helper()
	return playOut(t, mustParse(`floor 2
		0s ann acquire limit=9 ttl=3s
		0s bob acquire limit=9
		0s bob acquire limit=5 permits=2 ttl=2s
		0s cid acquire limit=7 ttl=4s
		100ms bob release token=4
		100ms dan acquire limit=9
		200ms dan release`)).state.Image()
}

// A grant is possible beside the others if it fits and its slots are free.
func TestAdmits(t *testing.T) {
	i := shared(t) // holds the slots 0, 2, 3 and 4
	for _, tc := range []struct {
		limit uint32
		slots []uint32
		want  bool
	}{
		{9, []uint32{1}, true}, {9, []uint32{7}, true}, {9, []uint32{0}, false}, {9, []uint32{4}, false},
		{9, []uint32{1, 7}, false}, {4, []uint32{1}, false}, {0, nil, false},
	} {
		if got := i.Admits(&journal.Grant{Token: 8, Limit: tc.limit, Slots: tc.slots, Phase: 3}); got != tc.want {
			t.Errorf("slots %v of %d: %v", tc.slots, tc.limit, got)
		}
	}
	var free lease.Image
	if !free.Admits(&journal.Grant{Token: 1}) {
		t.Error("a free resource admits no grant")
	}
}

// What happens to a copy does not happen to its original, in the middle of the others and at both ends.
func TestCloneSharesNothing(t *testing.T) {
	for _, kind := range []messages.Event_Kind{messages.Event_EXTENDED, messages.Event_RELEASED,
		messages.Event_EXPIRED} {
		for token := range messages.Token(7) {
			original := shared(t)
			h, ok := original.Find(token)
			if !ok {
				continue
			}
			before := shared(t)
			changed := original.Clone()
			g := proto.CloneOf(h.Grant)
			g.TtlMs = 77
			changed.Apply(&journal.Change{Kind: kind, Grant: g}, 500)
			changed.Apply(&journal.Change{Kind: messages.Event_ACQUIRED,
				Grant: &journal.Grant{Token: 8, Limit: 9, Slots: []uint32{7}, Phase: 3}}, 500)
			changed.Restart(900, nil)
			if !sameImage(original, before) {
				t.Errorf("%v of %d: the original became %+v", kind, token, original)
			}
			if sameImage(changed, before) {
				t.Errorf("%v of %d changed nothing", kind, token)
			}
		}
	}
	var free lease.Image
	if c := free.Clone(); !sameImage(c, free) {
		t.Errorf("the copy of nothing is %+v", c)
	}
	lost := func() lease.Image {
		return playOut(t,
			mustParse("0s ann acquire limit=5 delay=5s; 0s bob acquire limit=5 confirmed; 1s node tick")).state.Image()
	}
	original := lost()
	changed := original.Clone()
	changed.Restart(900, nil)
	changed.Apply(&journal.Change{Kind: messages.Event_CONFIRMED, Grant: ended(original)[0].Grant}, 900)
	if !sameImage(original, lost()) || changed.Counts().Ended != 1 {
		t.Errorf("the original became %+v, the copy %+v", original, changed)
	}
}

// What is stored, and read again, is the same but for the deadlines, which begin anew.
func TestRestore(t *testing.T) {
	for _, given := range []string{
		"", "floor 7", "0s ann acquire", "0s ann acquire; 0s ann release",
		"0s ann acquire limit=5; 0s bob acquire limit=5 ttl=5s",
		"0s ann acquire limit=5; 0s bob acquire limit=5; 0s ann release; 0s cid acquire limit=5 permits=3",
		"0s ann acquire limit=5; 0s bob acquire limit=5; 0s bob release",
		"0s ann acquire; 0s ann extend limit=all; 0s bob acquire limit=all",
		"0s ann acquire delay=5s; 0s op break token=1", "0s ann acquire confirmed; 1s node tick",
		"0s ann acquire delay=5s confirmed; 1s node tick", "0s ann acquire confirmed; 1s op confirm token=1",
		"0s ann acquire limit=5 delay=5s; 0s bob acquire limit=5 confirmed; 0s cid acquire limit=5 ttl=5s; 1s node tick",
		"0s ann acquire tokens=4; 0s ann extend tokens=8", "0s ann acquire tokens=4; 0s ann release",
		"0s ann acquire hold=5s", "0s ann acquire hold=5s; 500ms ann release",
		"0s ann acquire hold=5s; 500ms ann release; 5s node tick", "0s ann acquire hold=5s delay=9s; 1s node tick",
		"0s ann acquire hold=5s delay=1s; 1s node tick", "0s ann acquire hold=5s confirmed; 1s node tick",
		"0s ann acquire hold=5s confirmed; 1s node tick; 2s op confirm token=1",
	} {
		image := playOut(t, mustParse(given)).state.Image()
		entry := image.Entry(resource)
		for _, g := range entry.GetOthers() {
			if g.GetResource() != "" {
				t.Errorf("%q: stored with its resource: %v", given, g)
			}
		}
		restored := lease.Restore(entry)
		restored.Restart(500, nil)
		image.Restart(500, nil)
		if !sameImage(restored, image) || restored.Permits() != image.Permits() {
			t.Errorf("%q: %+v was restored as %+v", given, image, restored)
		}
		for l := range restored.Lost() {
			want := lease.Never
			if delay := l.Grant.GetDelayMs(); delay > 0 {
				want = lease.Instant(500).Add(duration(max(delay, l.RestMs)))
			}
			if l.Deadline != want {
				t.Errorf("%q: %v holds back until %v, want %v", given, l.Grant, l.Deadline, want)
			}
		}
		for h := range restored.Holdings() {
			if want := lease.Instant(500).Add(duration(h.Grant.GetTtlMs())); h.Deadline != want {
				t.Errorf("%q: %v ends at %v, want %v", given, h.Grant, h.Deadline, want)
			}
		}
	}
}

func TestWeightOfImage(t *testing.T) {
	i := shared(t)
	want := i.Last().Grant.Weight() // it has ended, and is stored all the same
	for h := range i.Holdings() {
		want += h.Grant.Weight()
	}
	if got := i.Weight(); got != want {
		t.Errorf("weight %d, want %d", got, want)
	}
	// a lease that may hold its resource back counts twice, held and lost
	for _, given := range []string{"0s ann acquire delay=5s", "0s ann acquire delay=5s; 1s node tick"} {
		image := playOut(t, mustParse(given)).state.Image()
		if got, want := image.Weight(), 2*image.Last().Grant.Weight(); got != want {
			t.Errorf("%s: weight %d, want %d", given, got, want)
		}
	}
	three := playOut(t,
		mustParse(
			"0s ann acquire limit=5 confirmed; 0s bob acquire limit=5 confirmed; 0s cid acquire limit=5 ttl=5s; "+
				"0s op break token=1")).state.Image()
	if lost, heldToo := ended(three)[0].Grant.Weight(), three.Last().Grant.Weight(); three.Weight() != 4*lost+heldToo {
		t.Errorf("weight %d, want %d", three.Weight(), 4*lost+heldToo)
	}
	var none lease.Image
	if got := none.Weight(); got != 0 {
		t.Errorf("nothing weighs %d", got)
	}
}

// A change of a lease that is not known, as in a journal whose begin is gone, changes nothing else.
func TestApplyOfAnUnknownLease(t *testing.T) {
	for _, kind := range []messages.Event_Kind{messages.Event_EXTENDED, messages.Event_RELEASED} {
		i := shared(t)
		before := i.Clone()
		i.Apply(&journal.Change{Kind: kind, Grant: &journal.Grant{Token: 4, TtlMs: 1000}}, 500)
		if !sameImage(i, before) {
			t.Errorf("%v: %+v became %+v", kind, before, i)
		}
	}
}

// holders lets n owners hold the resource, each by a request that change may change.
func holders(t *testing.T, n int, change func(*messages.AcquireRequest)) *lease.State {
	t.Helper()
	s := newState(lease.Image{})
	for i := range n {
		r := &messages.AcquireRequest{Owner: fmt.Sprint("o", i), TtlMs: 1000, Limit: math.MaxUint32}
		change(r)
		o := s.Step(timeAt(0), lease.Acquire{Request: r, MaxWaiting: 9})
		if got := o.Answers[0].Reply.GetStatus(); got != messages.Status_GRANTED {
			t.Fatalf("holder %d: %v", i, o.Answers[0].Reply)
		}
	}
	return s
}

// A thousand hold, and the next is refused until one has gone. An answer shows the first hundred.
func TestMostHolders(t *testing.T) {
	s := holders(t, 1000, func(*messages.AcquireRequest) {})
	for _, tc := range []struct{ when, want string }{
		{"0s ann acquire limit=all", "ann: OVERLOADED"},
		{"0s ann acquire limit=all wait=1s", "ann: OVERLOADED"},
		{"0s o7 acquire limit=all reentrant ttl=100ms", "o7: GRANTED o7#8[7]/all@1 1s/1s"},
		{"0s o7 release", "RELEASED o7#8[7]/all@1 1s; o7: RELEASED"},
		{"0s ann acquire limit=all", "ACQUIRED ann#1001[7]/all@1 1s; ann: GRANTED ann#1001[7]/all@1 1s/1s"},
	} {
		step := mustParse(tc.when).steps[0]
		o := s.Step(step.time(), step.event())
		if got := said(o); !slices.Equal(got, lines(tc.want)) {
			t.Errorf("%s: got %q, want %q", tc.when, got, tc.want)
		}
	}
	o := s.Step(timeAt(0), lease.Acquire{Request: &messages.AcquireRequest{Owner: "bob", TtlMs: 100,
		Limit: math.MaxUint32}})
	wantReply(t, o, &messages.Reply{
		Status: messages.Status_OVERLOADED,
		Error:  `resource "orders.42": 1000 leases are held, the most that may; try later`,
	})
	r := s.Step(timeAt(0), mustParse("0s op get").steps[0].event()).Answers[0].Reply
	if r.GetHeld() != 1000 || len(r.GetHolders()) != 100 || r.GetHolders()[99].GetOwner() != "o100" {
		t.Errorf("%d permits are held, %d holders are shown, the last is %v", r.GetHeld(), len(r.GetHolders()),
			r.GetHolders()[99])
	}
}

// A waiting request that fits waits on while a thousand hold, and has its turn when one has gone.
func TestWaitersAtMostHolders(t *testing.T) {
	s := holders(t, 1000, func(*messages.AcquireRequest) {})
	for _, tc := range []struct {
		when, want string
		waiting    int
	}{
		{"0s ann acquire wait=500ms", "", 1},
		{"0s bob acquire limit=all wait=1s", "", 2},
		{"500ms node tick", "ann: TIMEOUT o0#1[0]/all@1 500ms/1s waiting=1", 1},
		{"500ms cid acquire limit=all", "", 1},
		{"500ms o7 release", `RELEASED o7#8[7]/all@1 1s
			ACQUIRED bob#1001[7]/all@1 1s
			bob: GRANTED bob#1001[7]/all@1 1s/1s doubted
			o7: RELEASED`, 0},
	} {
		step := mustParse(tc.when).steps[0]
		o := s.Step(step.time(), step.event())
		if step.who == "cid" {
			if got := o.Answers[0].Reply.GetStatus(); got != messages.Status_HELD {
				t.Errorf("behind the queue: %v", got)
			}
		} else if got := said(o); !slices.Equal(got, lines(tc.want)) {
			t.Errorf("%s: got %q, want %q", tc.when, got, tc.want)
		}
		if s.Waiting() != tc.waiting {
			t.Errorf("%s: %d wait", tc.when, s.Waiting())
		}
	}
}

// The leases of a resource are stored in one message: those with long metadata are fewer than a thousand.
func TestMostBytes(t *testing.T) {
	big := func(r *messages.AcquireRequest) { r.Metadata = map[string]string{"k": strings.Repeat("v", 1000)} }
	s := newState(lease.Image{})
	for i := 0; ; i++ {
		r := &messages.AcquireRequest{Owner: fmt.Sprint("o", i), TtlMs: 1000, Limit: math.MaxUint32}
		big(r)
		image := s.Image()
		o := s.Step(timeAt(0), lease.Acquire{Request: r})
		full := image.Weight() >= 480<<10
		if status := o.Answers[0].Reply.GetStatus(); full != (status == messages.Status_OVERLOADED) {
			t.Fatalf("%v with %d holders of %d bytes", status, image.Holders(), image.Weight())
		}
		if full {
			want := fmt.Sprintf(
				`resource "orders.42": %d leases with their owners and metadata take 491520 bytes, the most that may; try later`, i)
			if got := o.Answers[0].Reply.GetError(); got != want {
				t.Errorf("got %s, want %s", got, want)
			}
			break
		}
	}
	s.Step(timeAt(0), mustParse("0s o0 release").steps[0].event())
	if o := s.Step(timeAt(0), mustParse("0s ann acquire limit=all").steps[0].event()); len(o.Changes) != 1 {
		t.Errorf("one has gone: %v", said(o))
	}
}

// A lease that is free of others is granted whatever the last one weighed.
func TestOneHolderIsNeverTooMuch(t *testing.T) {
	s := holders(t, 1, func(r *messages.AcquireRequest) { r.Limit, r.Permits = 1000, 1000 })
	o := s.Step(timeAt(0), mustParse("0s op get").steps[0].event())
	if r := o.Answers[0].Reply; r.GetHeld() != 1000 || len(r.GetLease().GetSlots()) != 1000 ||
		r.GetLease().GetSlots()[999] != 999 {
		t.Errorf("%d permits are held, by %v", r.GetHeld(), r.GetLease())
	}
}

// What makes a lease smaller makes room for a request that waits for bytes.
func TestRoomIsGivenToWaiters(t *testing.T) {
	const session = "session-000000000"
	for name, step := range map[string]func(*lease.Sessions, *lease.State) lease.Outcome{
		"a set": func(_ *lease.Sessions, s *lease.State) lease.Outcome {
			return s.Step(timeAt(0), lease.Set{Request: &messages.SetRequest{Owner: "o1"}})
		},
		"an extend out of a session": func(_ *lease.Sessions, s *lease.State) lease.Outcome {
			return s.Step(timeAt(0), lease.Extend{Request: &messages.ExtendRequest{Owner: "o0", TtlMs: 1000}})
		},
		"the end of a session whose leases go on": func(sessions *lease.Sessions, s *lease.State) lease.Outcome {
			sessions.End(sessions.Find(0, lease.KeyOfSession(session)), messages.Event_EXTENDED, "")
			return s.Step(timeAt(0), lease.Tick{})
		},
	} {
		sessions := lease.NewSessions(1)
		s := lease.New(resource, lease.Image{}, lease.NewEndedRequests(), sessions)
		acquire := func(i, bytes int, r *messages.AcquireRequest) {
			r.Owner, r.TtlMs, r.Limit = fmt.Sprint("o", i), 1000, math.MaxUint32
			r.Metadata = map[string]string{"k": strings.Repeat("v", bytes)}
			s.Step(timeAt(0), lease.Acquire{Request: r, MaxWaiting: 2})
		}
		left := func() int {
			image := s.Image()
			return 480<<10 - image.Weight()
		}
		acquire(0, 1000, &messages.AcquireRequest{Session: session})
		acquire(1, 0, &messages.AcquireRequest{})
		for i := 2; left() > 1200; i++ {
			acquire(i, 1000, &messages.AcquireRequest{})
		}
		s.Step(timeAt(0), lease.Set{Request: &messages.SetRequest{ // which fills it to the byte
			Owner: "o1", Metadata: map[string]string{"k": strings.Repeat("v", left())},
		}})
		if left() != 0 {
			t.Fatalf("%d bytes are left", left())
		}
		// A request waits for bytes if it has waited for something else before.
		s.Step(timeAt(0), mustParse("0s ann acquire wait=1s id=x").steps[0].event())
		acquire(9999, 0, &messages.AcquireRequest{WaitMs: 1000})
		s.Step(timeAt(0), mustParse("0s ann release id=x").steps[0].event())
		if s.Waiting() != 1 {
			t.Fatalf("%s: %d wait", name, s.Waiting())
		}
		o := step(sessions, s)
		if s.Waiting() != 0 || !slices.ContainsFunc(o.Answers,
			func(a lease.Answer) bool { return a.Reply.GetStatus() == messages.Status_GRANTED }) {
			t.Errorf("after %s nothing is granted: %v", name, said(o))
		}
	}
}
