package page

import (
	"testing"
	"time"

	"github.com/holdfast-io/holdfast/messages"
)

// Digits are in groups of three.
func TestCount(t *testing.T) {
	t.Parallel()
	for n, want := range map[int64]string{0: "0", 999: "999", 1000: "1 000", 1234567: "1 234 567"} {
		if got := count(n); got != want {
			t.Errorf("%d: %q, want %q", n, got, want)
		}
	}
}

// What counts in a table: how many requests wait beyond those that are listed, how long the oldest of them has waited,
// and how long a lease is held.
func TestTops(t *testing.T) {
	t.Parallel()
	r := newLockRow(&messages.Lease{Owner: "me"}, &messages.Queue{
		Waiting: 1234, OldestMs: 90_000, Waiters: []*messages.Waiter{{WaitingMs: 1000}},
	}, false)
	r.Age = time.Hour
	want := []string{"1234", "1m30s", "1h"}
	for i, table := range tops {
		if got := table.Value(r); got != want[i] {
			t.Errorf("%s: %s, want %s", table.Caption, got, want[i])
		}
	}
}
