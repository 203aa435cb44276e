package lease_test

import (
	"strings"
	"testing"
	"time"

	"github.com/holdfast-io/holdfast/actors/lease"
	"github.com/holdfast-io/holdfast/messages"
)

// A client cannot use up the tokens of a name: beyond a hundred million at once, its blocks take ten million a second.
func TestBlocksAreBounded(t *testing.T) {
	s := newState(lease.Image{})
	at := func(after time.Duration, e lease.Event) *messages.Reply {
		t.Helper()
		answers := s.Step(timeAt(lease.Instant(after)), e).Answers
		if len(answers) != 1 {
			t.Fatalf("%d answers", len(answers))
		}
		return answers[0].Reply
	}
	acquire := func(tokens uint32) lease.Acquire {
		return lease.Acquire{Request: &messages.AcquireRequest{Owner: "ann", TtlMs: 60_000, Tokens: tokens}}
	}
	grow := func(tokens uint32) lease.Extend {
		return lease.Extend{Request: &messages.ExtendRequest{Owner: "ann", TtlMs: 60_000, Tokens: tokens}}
	}
	release := lease.Release{Request: &messages.ReleaseRequest{Owner: "ann"}}
	check := func(got *messages.Reply, want messages.Status) {
		t.Helper()
		if got.GetStatus() != want {
			t.Fatalf("%v %s, want %v", got.GetStatus(), got.GetError(), want)
		}
	}

	check(at(0, acquire(messages.MaxBlock)), messages.Status_GRANTED)
	for n := range uint32(99) {
		check(at(0, grow((n+2)*messages.MaxBlock)), messages.Status_EXTENDED)
	}
	refused := at(0, grow(101*messages.MaxBlock))
	check(refused, messages.Status_OVERLOADED)
	if want := "take more than 10000000 tokens a second"; !strings.Contains(refused.GetError(), want) {
		t.Errorf("%q does not say %q", refused.GetError(), want)
	}
	check(at(0, grow(0)), messages.Status_EXTENDED) // one that asks for no more tokens goes on
	check(at(0, release), messages.Status_RELEASED)
	check(at(0, acquire(2)), messages.Status_OVERLOADED)
	check(at(99*time.Millisecond, acquire(messages.MaxBlock)), messages.Status_OVERLOADED)
	check(at(100*time.Millisecond, acquire(messages.MaxBlock)), messages.Status_GRANTED)
	check(at(100*time.Millisecond, release), messages.Status_RELEASED)
	check(at(100*time.Millisecond, acquire(1)), messages.Status_GRANTED)
}
