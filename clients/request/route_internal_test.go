package request

import (
	"testing"
	"time"
)

// After one slow answer direct routes are avoided for a moment, and for longer each time that happens again.
func TestDetour(t *testing.T) {
	var d detour
	now := time.Hour
	for _, want := range []time.Duration{1, 2, 4, 8, 16, 30, 30} {
		want *= time.Second
		d.begin(now)
		d.begin(now + want/2) // by a request that was under way
		if !d.lasts(now+want-1) || d.lasts(now+want) {
			t.Errorf("the detour of %v begins at %v and ends at %v", want, now, d.until)
		}
		now += want
	}
	d.begin(now)
	if d.end(); d.lasts(now) {
		t.Error("direct routes are avoided though one has answered")
	}
	if d.begin(now); d.lasts(now + minDetour) {
		t.Error("direct routes are avoided for longer than at first")
	}
}
