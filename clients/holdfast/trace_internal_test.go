package holdfast

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/holdfast-io/holdfast/messages"
)

// recording is a Tracer that records all calls.
type recording struct {
	mu    sync.Mutex
	spans []*recordedSpan
	// began is called when a header is asked for; nil: nothing is.
	began func()
}

// recordedSpan is a span with a header.
type recordedSpan struct {
	of    *recording
	call  Call
	ended []Result
}

func (x *recording) Begin(_ context.Context, c Call) Span {
	x.mu.Lock()
	defer x.mu.Unlock()
	s := &recordedSpan{of: x, call: c}
	x.spans = append(x.spans, s)
	return s
}

func (s *recordedSpan) Header() nats.Header {
	if s.of.began != nil {
		s.of.began()
	}
	return nats.Header{messages.HeaderTraceparent: {"parent"}}
}

func (s *recordedSpan) End(r Result) {
	s.of.mu.Lock()
	defer s.of.mu.Unlock()
	s.ended = append(s.ended, r)
}

// take returns the calls of an operation that were recorded since the last call. Each has ended once.
func (x *recording) take(t *testing.T, op string) (calls []*recordedSpan) {
	t.Helper()
	x.mu.Lock()
	defer x.mu.Unlock()
	for _, s := range x.spans {
		if len(s.ended) != 1 {
			t.Errorf("%+v has ended %d times", s.call, len(s.ended))
		} else if s.call.Op == op {
			calls = append(calls, s)
		}
	}
	x.spans = nil
	return calls
}

// last checks that one call of an operation was recorded, and that its span says what the call has returned.
func (x *recording) last(t *testing.T, op, outcome string, err error) {
	t.Helper()
	calls := x.take(t, op)
	if len(calls) != 1 {
		t.Fatalf("%d calls of %s", len(calls), op)
	}
	if r := calls[0].ended[0]; len(calls[0].ended) == 1 &&
		(r.Outcome != outcome || r.Err != err) { //nolint:errorlint // the very same one
		t.Errorf("the span of %s says %s, %v; want %s, %v", op, r.Outcome, r.Err, outcome, err)
	}
}

// A span ends once, however its call does, and says what the call has returned.
func TestSpansEndAsTheirCalls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, x := newScripted(t), new(recording)
		c := s.client(WithTracer(x))
		l := mustLock(t, c, "a")
		x.last(t, "acquire", "GRANTED", nil)

		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err := c.Acquire(ctx, "a", Owner("other"))
		x.last(t, "acquire", "", err)

		s.refuse = func(string, *messages.ExtendRequest) messages.Status { return messages.Status_INVALID }
		err = l.Extend(t.Context(), time.Minute)
		if !errors.Is(err, ErrInvalid) {
			t.Fatal(err)
		}
		x.last(t, "extend", "INVALID", err)
		s.refuse = nil
		err = l.Extend(t.Context(), time.Minute)
		x.last(t, "extend", "EXTENDED", err)

		wait(time.Second)
		held, _ := s.client().Acquire(t.Context(), "held", Owner("other"))
		if _, err = c.AcquireAll(t.Context(), []string{"free", "held"}, MaxWait(time.Second)); err == nil {
			t.Fatal("what is held was acquired")
		}
		wait(time.Minute)
		if n := len(x.take(t, "acquire")); n < 2 || held == nil {
			t.Errorf("%d acquires have spans", n)
		}

		s.breakLease("a")
		err = l.Release(t.Context())
		if !errors.Is(err, ErrLost) {
			t.Fatal(err)
		}
		x.last(t, "release", "NOT_HELD", err)

		if err := c.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
		_, err = c.Acquire(t.Context(), "b")
		if !errors.Is(err, ErrClosed) {
			t.Fatal(err)
		}
		x.last(t, "acquire", "", err)
	})
}

// All attempts for which a caller waits have the header, and no other renewal has.
func TestHeadersOfExtensions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, x := newScripted(t), new(recording)
		l := mustLock(t, s.client(WithTracer(x)), "a")
		x.began = func() { l.Token() } // the application may use its lock
		lost := 2
		s.script(func(op messages.Operation) (there, back time.Duration) {
			if op == messages.OpExtend && lost > 0 {
				lost--
				return lostOnTheWay, 0
			}
			return 0, 0
		})
		if err := l.Extend(t.Context(), DefaultTTL); err != nil {
			t.Fatal(err)
		}
		s.count(messages.OpExtend)
		wait(3 * DefaultTTL)
		if n := s.count(messages.OpExtend); n == 0 {
			t.Error("the lease is not renewed")
		}
		s.server.mu.Lock()
		defer s.server.mu.Unlock()
		headed := slices.DeleteFunc(s.server.headed, func(subject string) bool {
			a, err := messages.DefaultPrefix.Parse(subject)
			return err != nil || a.Operation != messages.OpExtend
		})
		if len(headed) != 3 {
			t.Errorf("%d extensions have a header, want the three attempts of the call", len(headed))
		}
	})
}
