package client_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/holdfast-io/holdfast/clients/holdfast"
)

func TestDo(t *testing.T) {
	c, other := newClient(t, url), newClient(t, url)
	ctx := testContext(t)

	t.Run("Error", func(t *testing.T) {
		want := errors.New("work failed")
		err := c.Do(ctx, t.Name(), func(context.Context, *holdfast.Lock) error { return want })
		if err != want { //nolint:errorlint // the very error, not wrapped
			t.Errorf("got %v, want %v", err, want)
		}
		if mustGet(t, other, t.Name()).Held {
			t.Error("still held")
		}
	})

	t.Run("Panic", func(t *testing.T) {
		defer func() {
			if r := recover(); r != "work" {
				t.Errorf("recovered %v", r)
			}
			if mustGet(t, other, t.Name()).Held {
				t.Error("still held")
			}
		}()
		_ = c.Do(ctx, t.Name(), func(context.Context, *holdfast.Lock) error { panic("work") })
	})

	// The context of work is the caller's in all but the lock.
	t.Run("Deadline", func(t *testing.T) {
		ctx, cancel := context.WithTimeout(context.WithValue(ctx, key{}, "value"), 200*time.Millisecond)
		defer cancel()
		want, _ := ctx.Deadline()
		err := c.Do(ctx, t.Name(), func(ctx context.Context, l *holdfast.Lock) error {
			if deadline, ok := ctx.Deadline(); !ok || !deadline.Equal(want) || ctx.Value(key{}) != "value" {
				t.Errorf("got the deadline %v, %v, want %v", deadline, ok, want)
			}
			<-ctx.Done()
			if !l.Valid() {
				t.Error("the lock ended with the caller's context")
			}
			return ctx.Err()
		})
		if !errors.Is(err, context.DeadlineExceeded) || errors.Is(err, holdfast.ErrLost) {
			t.Errorf("got %v, want DeadlineExceeded", err)
		}
		if mustGet(t, other, t.Name()).Held {
			t.Error("still held")
		}
	})
}
