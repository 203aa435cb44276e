package operate

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

// slowOutput takes its time for each write.
type slowOutput struct{ each time.Duration }

func (o slowOutput) Write(p []byte) (int, error) {
	<-time.After(o.each) // in virtual time
	return len(p), nil
}

// A task ends if it makes no progress, and not because its output is slow.
func TestGuard(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, i, stop := guard(t.Context(), time.Second)
		defer stop()
		w := i.output(slowOutput{time.Hour})
		for range 3 {
			if _, err := w.Write([]byte("page")); err != nil {
				t.Fatal(err)
			}
		}
		synctest.Wait()
		if ctx.Err() != nil {
			t.Fatalf("a slow output: %v", context.Cause(ctx))
		}
		began := time.Now()
		<-ctx.Done()
		if idle := time.Since(began); !errors.Is(context.Cause(ctx), errIdle) || idle != time.Second {
			t.Errorf("%v after %v", context.Cause(ctx), idle)
		}
	})
}
