package retry

import (
	"context"
	"time"
)

// The default bounds of a [Backoff]. The first pause is as long as a leader needs to finish its current
// step. The longest is short compared with the 4 to 9 seconds of an election.
const (
	minPause = time.Millisecond
	maxPause = 250 * time.Millisecond
)

// Backoff is the pause between attempts. It doubles from Min to Max. The zero value goes from 1 ms to
// 250 ms. It is not safe for concurrent use.
type Backoff struct {
	Min, Max time.Duration
	next     time.Duration
}

// Wait pauses before the next attempt. It returns ctx's error if ctx ends first.
func (b *Backoff) Wait(ctx context.Context) error {
	pause := b.pause()
	b.next = min(2*pause, b.Max)
	return Pause(ctx, pause)
}

// IsLongest reports whether the next pause is the longest one.
func (b *Backoff) IsLongest() bool { return b.pause() == b.Max }

// Reset returns to the shortest pause.
func (b *Backoff) Reset() { b.next = 0 }

func (b *Backoff) pause() time.Duration {
	if b.Max == 0 {
		b.Min, b.Max = minPause, maxPause
	}
	return max(b.next, b.Min)
}

// Pause waits for the duration. It returns ctx's error if ctx ends first.
func Pause(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}

const (
	// remindAfter is the first reminder of a wait. An election takes up to 9 seconds.
	remindAfter = 10 * time.Second
	// remindEvery repeats it, so that the end of a log shows it.
	remindEvery = 30 * time.Second
)

// Reminder limits the log lines of a long wait. The zero value is due at once, then every 30 seconds.
type Reminder struct{ last time.Time }

// RemindSince returns a reminder that is due 10 seconds after the wait began, then every 30 seconds.
func RemindSince(began time.Time) Reminder {
	return Reminder{last: began.Add(remindAfter - remindEvery)}
}

// IsDue reports whether to log now. If so, the next reminder is due 30 seconds later.
func (r *Reminder) IsDue() bool {
	if time.Since(r.last) < remindEvery {
		return false
	}
	r.last = time.Now()
	return true
}
