package client_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/holdfast-io/holdfast/clients/holdfast"
	"github.com/holdfast-io/holdfast/integration/proxy"
)

func TestDo(t *testing.T) {
	c, other := newClient(t, url), newClient(t, url)
	ctx := testContext(t)

	t.Run("OK", func(t *testing.T) {
		err := c.Do(ctx, t.Name(), func(ctx context.Context, l *holdfast.Lock) error {
			s := mustGet(t, other, t.Name())
			token, ok := holdfast.TokenFromContext(ctx)
			if !s.Held || s.Token != l.Token() || !ok || token != l.Token() || !l.Valid() || ctx.Err() != nil {
				t.Errorf("held by %+v, in the context %v, %v", s, token, ctx.Err())
			}
			return nil
		})
		if err != nil {
			t.Error(err)
		}
		if mustGet(t, other, t.Name()).Held {
			t.Error("still held")
		}
	})

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

	t.Run("NotAcquired", func(t *testing.T) {
		l := mustAcquire(t, other, t.Name())
		err := c.Do(ctx, t.Name(), func(context.Context, *holdfast.Lock) error {
			t.Error("work ran without the lock")
			return nil
		}, holdfast.MaxWait(10*time.Millisecond))
		if !errors.Is(err, holdfast.ErrTimeout) {
			t.Errorf("got %v, want ErrTimeout", err)
		}
		mustRelease(t, l)
	})

	t.Run("Cancelled", func(t *testing.T) {
		why := errors.New("enough")
		ctx, cancel := context.WithCancelCause(ctx)
		err := c.Do(ctx, t.Name(), func(ctx context.Context, l *holdfast.Lock) error {
			cancel(why)
			<-ctx.Done()
			if !l.Valid() {
				t.Error("the lock ended with the caller's context")
			}
			return context.Cause(ctx)
		})
		if !errors.Is(err, why) || errors.Is(err, holdfast.ErrLost) {
			t.Errorf("got %v, want %v", err, why)
		}
		if mustGet(t, other, t.Name()).Held {
			t.Error("still held")
		}
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

	t.Run("Lost", func(t *testing.T) {
		mine := errors.New("stopped")
		err := c.Do(ctx, t.Name(), func(ctx context.Context, l *holdfast.Lock) error {
			if err := other.Break(ctx, t.Name(), l.Token(), "test"); err != nil {
				t.Error(err)
			}
			<-ctx.Done()
			if cause := context.Cause(ctx); !errors.Is(cause, holdfast.ErrLost) {
				t.Errorf("got %v, want ErrLost", cause)
			}
			return mine
		}, holdfast.TTL(3*time.Second))
		if !errors.Is(err, mine) || !errors.Is(err, holdfast.ErrLost) {
			t.Errorf("got %v, want %v and ErrLost", err, mine)
		}
	})

	// Work that does not look at its context gets the loss in the end.
	t.Run("LostUnnoticed", func(t *testing.T) {
		err := c.Do(ctx, t.Name(), func(ctx context.Context, l *holdfast.Lock) error {
			return other.Break(ctx, t.Name(), l.Token(), "test")
		}, holdfast.TTL(time.Hour))
		if !errors.Is(err, holdfast.ErrLost) {
			t.Errorf("got %v, want ErrLost", err)
		}
	})

	// A lease that has come through to its last moment is one that no other holder had.
	t.Run("ReleaseUnanswered", func(t *testing.T) {
		p := proxy.New(t, url)
		c := newClient(t, p.URL(), holdfast.Timeout(50*time.Millisecond))
		err := c.Do(ctx, t.Name(), func(context.Context, *holdfast.Lock) error {
			p.OnAnswers("release", proxy.Always(proxy.Lose))
			return nil
		})
		if err != nil {
			t.Errorf("got %v, want nil", err)
		}
		p.Resume()
		untilFree(t, other, t.Name())
	})
}
