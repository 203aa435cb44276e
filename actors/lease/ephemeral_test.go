package lease_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/holdfast-io/holdfast/actors/lease"
	"github.com/holdfast-io/holdfast/messages"
	"github.com/holdfast-io/holdfast/messages/journal"
)

// Only the reservation of tokens is recorded; all else waits for nothing.
func TestEphemeralIsNotRecorded(t *testing.T) {
	s := newState(lease.Image{Floor: 6})
	for i, tc := range []struct {
		when      string
		want      string
		ephemeral bool
	}{
		{"0s ann acquire ephemeral", "reserved #1006; ann: GRANTED ann#7 1s/1s", false},
		{"0s bob acquire", "bob: HELD ann#7 1s/1s", true},
		{"0s ann extend ttl=2s", "ann: EXTENDED ann#7 2s/2s", true},
		{"0s op get", "op: HELD ann#7 2s/2s", true},
		{"0s ann release", "ann: RELEASED", true},
		{"0s ann release", "ann: RELEASED", false},
		{"0s ann extend", "ann: NOT_HELD", false},
		{"0s op get", "op: FREE #7", false},
		{"0s bob acquire ephemeral", "bob: GRANTED bob#8 1s/1s", true},
		{"0s cid acquire wait=5s", "", true},
		{"1s node tick", "ACQUIRED cid#9 1s; cid: GRANTED cid#9 1s/1s doubted", false},
		{"1s cid release", "RELEASED cid#9 1s; cid: RELEASED", false},
		{"1s ann acquire ephemeral", "reserved #1009; ann: GRANTED ann#10 1s/1s", false},
	} {
		step := mustParse(tc.when).steps[0]
		o := s.Step(timeAt(step.at), step.event())
		var want []string
		if tc.want != "" {
			want = strings.Split(tc.want, "; ")
		}
		if got := said(o); !slices.Equal(got, want) || o.Ephemeral != tc.ephemeral {
			t.Errorf("step %d, %s:\ngot  %q ephemeral %v\nwant %q ephemeral %v", i, tc.when, got, o.Ephemeral, want,
				tc.ephemeral)
		}
	}
}

// Of shared leases only the persistent ones are recorded, and what is said waits for the journal unless all who hold do
// so in memory.
func TestEphemeralReaders(t *testing.T) {
	s := newState(lease.Image{})
	for i, tc := range []struct {
		when      string
		want      string
		ephemeral bool
	}{
		{"0s ann acquire limit=all ephemeral", "reserved #1000; ann: GRANTED ann#1[0]/all@1 1s/1s", false},
		{"0s bob acquire limit=all ephemeral", "bob: GRANTED bob#2[1]/all@1 1s/1s", true},
		{"0s cid acquire limit=all ttl=5s", "ACQUIRED cid#3[2]/all@1 5s; cid: GRANTED cid#3[2]/all@1 5s/5s", false},
		{"0s ann extend", "ann: EXTENDED ann#1[0]/all@1 1s/1s", false},
		{"0s bob release", "bob: RELEASED", false},
		{"0s dan acquire limit=all ephemeral ttl=9s", "reserved #1003; dan: GRANTED dan#4[1]/all@1 9s/9s", false},
		{"0s cid release", "RELEASED cid#3[2]/all@1 5s; cid: RELEASED", false},
		{"0s op get", "op: HELD ann#1[0]/all@1 1s/1s held=2 holders=ann#1,dan#4", true},
		{"1s op get", "op: HELD dan#4[1]/all@1 8s/9s held=1 holders=dan#4", true},
		{"1s dan extend limit=all", "dan: EXTENDED dan#4[1]/all@1 1s/1s", true},
		{"1s dan release", "dan: RELEASED", true},
		{"1s ann acquire ephemeral", "ann: GRANTED ann#5 1s/1s", true},
		{"1s ann extend limit=5", "ann: EXTENDED ann#6[0]/5@6 1s/1s", true},
		{"1s bob acquire limit=5", "ACQUIRED bob#7[1]/5@6 1s; bob: GRANTED bob#7[1]/5@6 1s/1s", false},
	} {
		step := mustParse(tc.when).steps[0]
		o := s.Step(timeAt(step.at), step.event())
		if got := said(o); !slices.Equal(got, lines(tc.want)) || o.Ephemeral != tc.ephemeral {
			t.Errorf("step %d, %s:\ngot  %q ephemeral %v\nwant %q ephemeral %v", i, tc.when, got, o.Ephemeral, tc.want,
				tc.ephemeral)
		}
	}
	if held := s.Ephemeral(); len(held) != 1 || held[0].Grant.GetToken() != 6 {
		t.Errorf("ephemeral: %v", held)
	}
}

// A reservation is used to its last token, and the next one is made in time.
func TestReservation(t *testing.T) {
	const size = 1000
	s := newState(lease.Image{})
	for token := uint64(1); token <= 2*size+1; token++ {
		o := s.Step(timeAt(0), mustParse("0s ann acquire ephemeral").steps[0].event())
		var want []string
		if token%size == 1 {
			want = append(want, fmt.Sprintf("reserved #%d", token+size-1))
		}
		want = append(want, fmt.Sprintf("ann: GRANTED ann#%d 1s/1s", token))
		if got := said(o); !slices.Equal(got, want) {
			t.Fatalf("got %q, want %q", got, want)
		}
		s.Step(timeAt(0), mustParse("0s ann release").steps[0].event())
	}
}

// No reservation goes beyond the last token.
func TestLastReservation(t *testing.T) {
	s := newState(lease.Image{Floor: messages.MaxToken - 2})
	o := s.Step(timeAt(0), mustParse("0s ann acquire ephemeral").steps[0].event())
	want := []string{"reserved #900000000000000", "ann: GRANTED ann#899999999999999 1s/1s"}
	if got := said(o); !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// After a crash the reservation stands where ephemeral leases may have been: whose last persistent
// one is remembered does not learn how that ended, because it may not have been the last.
func TestReservedSince(t *testing.T) {
	for _, ended := range []string{"1s node tick", "100ms ann release", "100ms op break token=1"} {
		p := playOut(t, mustParse("0s ann acquire; "+ended))
		image := p.state.Image()
		image.Apply(&journal.Change{Resource: resource, Reserved: 1001}, 0)
		s := newState(image)
		for _, tc := range []struct{ when, want string }{
			{"2s ann release token=1", "ann: NOT_HELD"},
			{"2s ann extend", "ann: NOT_HELD"},
			{"2s op get", "op: FREE"},
			{"2s bob acquire", "bob: GRANTED bob#1002 1s/1s"},
		} {
			o := s.Step(timeAt(lease.Instant(2*time.Second)), mustParse(tc.when).steps[0].event())
			if got := sayAnswer(o.Answers[0]); got != tc.want {
				t.Errorf("%s, then %s: got %s, want %s", ended, tc.when, got, tc.want)
			}
		}
	}
}

// checkEphemeral plays the script once as it is and once with some of its leases ephemeral: that
// changes no answer, and of what is recorded it takes away those leases alone.
func checkEphemeral(t tester, s script, salt int) {
	t.Helper()
	persistent, mixed := newState(lease.Image{Floor: s.floor}), newState(lease.Image{Floor: s.floor})
	recorded := lease.Image{Floor: s.floor}
	ephemeral := map[uint64]bool{}
	for i, st := range s.steps {
		want := persistent.Step(st.time(), st.event())
		due := mixed.Step(st.time(), lease.Tick{})
		before := mixed.Image()
		st.ephemeral = (i+salt)%3 == 0 && st.delay == 0 && !st.confirmed && st.hold == 0
		got := mixed.Step(st.time(), st.event())

		image := mixed.Image()
		for _, a := range slices.Concat(due.Answers, got.Answers) {
			if l := a.Reply.GetLease(); l.GetDurability() == messages.Durability_EPHEMERAL {
				ephemeral[l.GetToken()] = true
			}
		}
		want.Changes = slices.DeleteFunc(want.Changes,
			func(c *journal.Change) bool { return ephemeral[c.GetGrant().GetToken()] })
		only := len(got.Changes) == 0 && (before.Held() || image.Held()) && allEphemeral(before) &&
			allEphemeral(image) &&
			(image.Held() || ephemeral[image.Last().Grant.GetToken()])
		if got.Ephemeral != only {
			t.Fatalf("ephemeral: %v\nafter %s\nin this script:\n%s", got.Ephemeral, st, s)
		}
		got.Changes, got.Answers = slices.Concat(due.Changes, got.Changes), slices.Concat(due.Answers, got.Answers)
		for _, c := range got.Changes {
			recorded.Apply(c, st.at)
		}
		if recorded.Token() < image.Token() {
			t.Fatalf("token %d is out, but only %d is recorded\nafter %s\nin this script:\n%s", image.Token(),
				recorded.Token(), st, s)
		}
		got.Changes = slices.DeleteFunc(got.Changes, func(c *journal.Change) bool { return c.GetReserved() > 0 })
		if !slices.Equal(said(got), said(want)) {
			t.Fatalf("some ephemeral: %v\nall persistent: %v\nafter %s\nin this script:\n%s", said(got), said(want),
				st, s)
		}
		if !ephemeral[image.Last().Grant.GetToken()] && image.Last().Grant != nil && len(mixed.Ephemeral()) == 0 &&
			!sameImage(recorded, image) {
			t.Fatalf("recorded is %+v, the state is %+v\nafter %s\nin this script:\n%s", recorded, image, st, s)
		}
		kept := slices.DeleteFunc(holdings(image), isEphemeral)
		if !slices.EqualFunc(holdings(recorded), kept, sameLease) {
			t.Fatalf("recorded as held: %v\nheld: %v\nafter %s\nin this script:\n%s", holdings(recorded), kept, st, s)
		}
		wantEphemeral := slices.DeleteFunc(holdings(image), func(h lease.Lease) bool { return !isEphemeral(h) })
		if !slices.EqualFunc(mixed.Ephemeral(), wantEphemeral, sameLease) {
			t.Fatalf("ephemeral: %v, want %v\nafter %s\nin this script:\n%s", mixed.Ephemeral(), wantEphemeral, st, s)
		}
	}
}

func isEphemeral(h lease.Lease) bool {
	return h.Grant.GetDurability() == messages.Durability_EPHEMERAL
}

// allEphemeral reports whether all that is held is ephemeral, and nothing holds back.
func allEphemeral(i lease.Image) bool {
	return !i.HeldBack() && !slices.ContainsFunc(holdings(i), func(h lease.Lease) bool { return !isEphemeral(h) })
}

// However leases of both kinds follow one another, and whenever the owner dies, no token is issued
// twice and none is lower than one before.
func TestDurabilities(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var (
			recorded lease.Image
			state    = newState(lease.Image{})
			now      lease.Time
			last     uint64
		)
		step := func(e lease.Event) {
			o := state.Step(now, e)
			for _, c := range o.Changes {
				recorded.Apply(c, now.Instant)
			}
			if o.Ephemeral && len(o.Changes) > 0 {
				t.Fatalf("something recorded is said to be ephemeral: %v", said(o))
			}
			for _, a := range o.Answers {
				l := a.Reply.GetLease()
				end := l.GetToken() + uint64(max(l.GetTokens(), 1)) - 1
				if a.Reply.GetStatus() == messages.Status_EXTENDED {
					last = max(last, end) // downgraded, or grown
				}
				if a.Reply.GetStatus() != messages.Status_GRANTED {
					continue
				}
				if l.GetToken() <= last {
					t.Fatalf("token %d behind %d", l.GetToken(), last)
				} else {
					last = end
				}
			}
			for _, h := range state.Ephemeral() {
				if recorded.Token() < h.Grant.Last() {
					t.Fatalf("token %d is out, but only %d is recorded", h.Grant.Last(), recorded.Token())
				}
			}
		}
		t.Repeat(map[string]func(*rapid.T){
			"acquire": func(t *rapid.T) {
				r := &messages.AcquireRequest{
					Owner: pick(owners, rapid.Byte().Draw(t, "owner")), TtlMs: 100,
					WaitMs:     rapid.SampledFrom([]uint32{0, 1000}).Draw(t, "wait"),
					Limit:      rapid.SampledFrom([]uint32{0, 0, 2, 3}).Draw(t, "limit"),
					Durability: rapid.SampledFrom([]messages.Durability{0, 1}).Draw(t, "durability"),
				}
				if r.GetLimit() == 0 {
					r.Tokens = rapid.SampledFrom([]uint32{0, 3, 1500}).Draw(t, "tokens")
				}
				step(lease.Acquire{MaxWaiting: 3, Request: r})
			},
			"grow": func(t *rapid.T) {
				step(lease.Extend{Request: &messages.ExtendRequest{
					Owner: pick(owners, rapid.Byte().Draw(t, "owner")), TtlMs: 100,
					Tokens: rapid.SampledFrom([]uint32{2, 700, 3000}).Draw(t, "tokens"),
					Order:  rapid.Uint64Range(0, 2).Draw(t, "order"),
				}})
			},
			"release": func(t *rapid.T) {
				step(lease.Release{Request: &messages.ReleaseRequest{
					Owner: pick(owners, rapid.Byte().Draw(t, "owner"))}})
			},
			"downgrade": func(t *rapid.T) {
				step(lease.Extend{Request: &messages.ExtendRequest{
					Owner: pick(owners, rapid.Byte().Draw(t, "owner")), TtlMs: 100, Limit: 4,
				}})
			},
			"time": func(t *rapid.T) {
				now.Instant = now.Add(time.Duration(rapid.IntRange(0, 150).Draw(t, "ms")) * time.Millisecond)
				step(lease.Tick{})
			},
			"crash": func(*rapid.T) {
				recorded.Restart(now.Instant, nil)
				state = newState(recorded.Clone())
			},
			"": func(*rapid.T) {},
		})
	})
}
