package lease_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/holdfast-io/holdfast/actors/lease"
	"github.com/holdfast-io/holdfast/messages"
)

// Only the reservation of tokens is recorded; all else waits for nothing.
func TestEphemeralIsNotRecorded(t *testing.T) {
	s := lease.New(resource, lease.Image{Floor: 6})
	for i, tc := range []struct {
		when     string
		want     string
		volatile bool
	}{
		{"0s ann acquire ephemeral", "reserved #1006; ann: GRANTED ann#7 1s/1s", false},
		{"0s bob acquire", "bob: HELD ann#7 1s/1s", true},
		{"0s ann extend ttl=2s", "ann: EXTENDED ann#7 2s/2s", true},
		{"0s op get", "op: HELD ann#7 2s/2s", true},
		{"0s ann release", "ann: RELEASED", true},
		{"0s ann release", "ann: RELEASED", true},
		{"0s op get", "op: FREE #7", true},
		{"0s bob acquire ephemeral", "bob: GRANTED bob#8 1s/1s", true},
		{"0s cid acquire wait=5s", "", true},
		{"1s node tick", "ACQUIRED cid#9 1s; cid: GRANTED cid#9 1s/1s waited", false},
		{"1s cid release", "RELEASED cid#9 1s; cid: RELEASED", false},
		{"1s ann acquire ephemeral", "reserved #1009; ann: GRANTED ann#10 1s/1s", false},
	} {
		step := mustParse(tc.when).steps[0]
		o := s.Step(timeAt(lease.Instant(step.at)), step.event())
		var want []string
		if tc.want != "" {
			want = strings.Split(tc.want, "; ")
		}
		if got := said(o); !slices.Equal(got, want) || o.Volatile != tc.volatile {
			t.Errorf("step %d, %s:\ngot  %q volatile %v\nwant %q volatile %v", i, tc.when, got, o.Volatile, want, tc.volatile)
		}
	}
}

// However leases of both kinds follow one another, and whenever the owner dies, no token is issued
// twice and none is lower than one before.
func TestDurabilities(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var (
			recorded lease.Image
			state    = lease.New(resource, lease.Image{})
			now      lease.Time
			last     uint64
		)
		step := func(e lease.Event) {
			o := state.Step(now, e)
			for _, c := range o.Changes {
				recorded.Apply(c, now.Instant)
			}
			if o.Volatile && len(o.Changes) > 0 {
				t.Fatalf("something recorded is said to be volatile: %v", said(o))
			}
			for _, a := range o.Answers {
				if a.Reply.GetStatus() != messages.Status_GRANTED {
					continue
				}
				if token := a.Reply.GetLease().GetToken(); token <= last {
					t.Fatalf("token %d behind %d", token, last)
				} else {
					last = token
				}
			}
			if image, held := state.Volatile(); held && uint64(recorded.Token()) < image.Grant.GetToken() {
				t.Fatalf("token %d is out, but only %d is recorded", image.Grant.GetToken(), recorded.Token())
			}
		}
		t.Repeat(map[string]func(*rapid.T){
			"acquire": func(t *rapid.T) {
				step(lease.Acquire{MaxWaiting: 3, Request: &messages.AcquireRequest{
					Owner: pick(owners, rapid.Byte().Draw(t, "owner")), TtlMs: 100,
					WaitMs:     rapid.SampledFrom([]uint32{0, 1000}).Draw(t, "wait"),
					Durability: rapid.SampledFrom([]messages.Durability{0, 1}).Draw(t, "durability"),
				}})
			},
			"release": func(t *rapid.T) {
				step(lease.Release{Request: &messages.ReleaseRequest{Owner: pick(owners, rapid.Byte().Draw(t, "owner"))}})
			},
			"time": func(t *rapid.T) {
				now.Instant = now.Add(time.Duration(rapid.IntRange(0, 150).Draw(t, "ms")) * time.Millisecond)
				step(lease.Tick{})
			},
			"crash": func(*rapid.T) {
				recorded.Restart(now.Instant)
				state = lease.New(resource, recorded)
			},
			"": func(*rapid.T) {},
		})
	})
}
