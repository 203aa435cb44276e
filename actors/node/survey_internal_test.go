package node

import (
	"testing"
	"testing/synctest"

	"github.com/holdfast-io/holdfast/actors"
	"github.com/holdfast-io/holdfast/actors/node/routing"
	"github.com/holdfast-io/holdfast/messages"
)

// So many requests may be at all shards, and one more when a shard has answered the last part of one.
func TestSurveysAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &surveyor{clock: actors.SystemClock(), routers: make(routing.Table, 1), under: make(map[uint64]*survey)}
		var last uint64
		for i := range maxSurveys {
			number, ok := s.begin(messages.ReplyTo{Encoding: messages.JSON})
			if !ok {
				t.Fatalf("survey %d is refused", i)
			}
			last = number
		}
		if _, ok := s.begin(messages.ReplyTo{}); ok || len(s.under) != maxSurveys {
			t.Errorf("one too many is taken, of %d", len(s.under))
		}
		if !s.add(last, 0, []byte(`{"status":"RELEASED"}`)) {
			t.Fatal("the answer of its only shard does not end it")
		}
		s.under[last].stop()
		delete(s.under, last)
		if _, ok := s.begin(messages.ReplyTo{}); !ok {
			t.Error("there is room, and a survey is refused")
		}
		for _, v := range s.under {
			v.stop()
		}
	})
}
