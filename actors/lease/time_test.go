package lease_test

import (
	"testing"
	"time"

	"github.com/holdfast-io/holdfast/actors/lease"
)

var timeRows = []row{
	{"nothing is due, ever",
		"",
		"0s node tick",
		""},
	{"in time",
		"0s ann acquire",
		"1s node tick",
		"EXPIRED ann#1 1s"},
	{"so late that the wait is over too: the wait goes first",
		"0s ann acquire; 0s bob acquire wait=2s",
		"3s node tick",
		"EXPIRED ann#1 1s; bob: TIMEOUT"},
}

func TestWake(t *testing.T) {
	for _, tc := range []struct {
		name, given string
		want        time.Duration
	}{
		{"never held", "", never},
		{"forgotten", "floor 7", never},
		{"held", "5s ann acquire", 6 * time.Second},
		{"extended", "0s ann acquire; 500ms ann extend", 1500 * time.Millisecond},
		{"shortened", "0s ann acquire; 500ms ann extend ttl=100ms", 600 * time.Millisecond},
		{"reentrant", "0s ann acquire; 500ms ann acquire reentrant", 1500 * time.Millisecond},
		{"released", "0s ann acquire; 500ms ann release", never},
		{"expired", "0s ann acquire; 1s node tick", never},
		{"released before its shortest hold is over", "0s ann acquire hold=2s; 500ms ann release", 2 * time.Second},
		{"lost, with a delay and a shortest hold", "0s ann acquire hold=9s delay=2s; 1s node tick", 9 * time.Second},
		{"lost, which is to be confirmed", "0s ann acquire hold=9s confirmed; 1s node tick", never},
		{"held longer than its shortest hold", "0s ann acquire hold=500ms", time.Second},
		{"broken", "0s ann acquire; 500ms op break token=1", never},
		{"a wait that ends before the lease", "0s ann acquire; 100ms bob acquire wait=500ms", 600 * time.Millisecond},
		{"a wait that ends after the lease", "0s ann acquire; 100ms bob acquire wait=2s", time.Second},
		{"two waits", "0s ann acquire; 0s bob acquire wait=500ms; 0s cid acquire wait=300ms", 300 * time.Millisecond},
		{
			"two waits, one is over",
			"0s ann acquire; 0s bob acquire wait=500ms; 0s cid acquire wait=300ms; 300ms node tick",
			500 * time.Millisecond,
		},
		{
			"a wait made shorter",
			"0s ann acquire; 0s bob acquire wait=500ms id=x; 0s bob acquire wait=300ms id=x from=bob2",
			300 * time.Millisecond,
		},
		{"all waits are over", "0s ann acquire; 0s bob acquire wait=500ms; 500ms node tick", time.Second},
		{"all were sent away", "0s ann acquire; 0s bob acquire wait=500ms; 100ms node dismiss why=moving", time.Second},
		{"handed on", "0s ann acquire; 0s bob acquire wait=500ms; 100ms ann release", 1100 * time.Millisecond},
		{
			"handed on, and one waits still",
			"0s ann acquire; 0s bob acquire wait=2s; 0s cid acquire wait=500ms; 100ms ann release",
			500 * time.Millisecond,
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			p := playOut(t, mustParse(tc.given))
			if got := p.state.Wake(); got != lease.Instant(tc.want) {
				t.Errorf("wakes at %v, want %v", time.Duration(got), tc.want)
			}
		})
	}
}

const never = time.Duration(lease.Never)

// A wait that ended otherwise may leave an instant behind at which nothing is to be done. Its tick
// is wasted, and the next is right.
func TestWakeInVain(t *testing.T) {
	p := playOut(t, mustParse(`0s ann acquire; 0s bob acquire wait=500ms id=x; 0s cid acquire wait=2s
		100ms bob release id=x from=bob2`))
	for p.state.Wake() < lease.Instant(time.Second) {
		if o := p.step(t, tick(p.state.Wake())); len(said(o)) > 0 {
			t.Errorf("before anything is due: %v", said(o))
		}
	}
	if wake := p.state.Wake(); wake != lease.Instant(time.Second) {
		t.Errorf("wakes at %v", time.Duration(wake))
	}
}
