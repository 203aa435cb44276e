package retry_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/holdfast-io/holdfast/jetstream/internal/retry"
)

// pauses returns how long the next n pauses take, in milliseconds.
func pauses(t *testing.T, b *retry.Backoff, n int) (took []int64) {
	t.Helper()
	for range n {
		began := time.Now()
		if err := b.Wait(t.Context()); err != nil {
			t.Fatal(err)
		}
		took = append(took, time.Since(began).Milliseconds())
	}
	return took
}

func TestBackoffDoubles(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var b retry.Backoff
		if got, want := pauses(t, &b, 8), []int64{1, 2, 4, 8, 16, 32, 64, 128}; !slices.Equal(got, want) || !b.IsLongest() {
			t.Errorf("pauses of %v ms, want %v; longest next: %v", got, want, b.IsLongest())
		}
		if got := pauses(t, &b, 2); !slices.Equal(got, []int64{250, 250}) {
			t.Errorf("at last pauses of %v ms", got)
		}
		b.Reset()
		if got := pauses(t, &b, 1); got[0] != 1 || b.IsLongest() {
			t.Errorf("after a reset a pause of %v ms; longest next: %v", got, b.IsLongest())
		}
		b = retry.Backoff{Min: time.Second, Max: 3 * time.Second}
		if got, want := pauses(t, &b, 4), []int64{1000, 2000, 3000, 3000}; !slices.Equal(got, want) {
			t.Errorf("with bounds pauses of %v ms, want %v", got, want)
		}
	})
}

// A pause ends with its context.
func TestPauseEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		began := time.Now()
		if err := retry.Pause(ctx, time.Minute); !errors.Is(err, context.DeadlineExceeded) ||
			time.Since(began) != time.Second {
			t.Errorf("error %v after %v", err, time.Since(began))
		}
	})
}

func TestReminderIsLimited(t *testing.T) {
	for name, test := range map[string]struct {
		begin func() retry.Reminder
		due   []int // in seconds
	}{
		"Zero":  {func() retry.Reminder { return retry.Reminder{} }, []int{0, 30, 60}},
		"Since": {func() retry.Reminder { return retry.RemindSince(time.Now()) }, []int{10, 40, 70}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				reminder := test.begin()
				var due []int
				for second := range 80 {
					if reminder.IsDue() {
						due = append(due, second)
					}
					if err := retry.Pause(t.Context(), time.Second); err != nil {
						t.Fatal(err)
					}
				}
				if !slices.Equal(due, test.due) {
					t.Errorf("due at %v s, want %v", due, test.due)
				}
			})
		})
	}
}
