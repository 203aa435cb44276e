package page

import (
	"testing"
	"time"
)

// A tail begins to watch for at most a twentieth of its time.
func TestTailRests(t *testing.T) {
	t.Parallel()
	for took, want := range map[time.Duration]time.Duration{
		0: time.Second, 50 * time.Millisecond: time.Second, 100 * time.Millisecond: 2 * time.Second,
		time.Minute: 30 * time.Second,
	} {
		now := time.Now()
		l := tail{took: took}
		l.rest()
		if l.watch(t.Context()) != nil {
			t.Errorf("it watches at once after %v", took)
		}
		if l.until.Before(now.Add(want)) || l.until.After(time.Now().Add(want)) {
			t.Errorf("after %v it watches again in %v, want %v", took, l.until.Sub(now), want)
		}
	}
}
