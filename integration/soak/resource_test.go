package soak

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"
)

// The judge is judged: it says nothing of what is right, and names what is wrong.
func TestResourceJudges(t *testing.T) {
	const ms = time.Millisecond
	direct := route{1, "acquire"}
	tests := []struct {
		name     string
		play     func(r *resource)
		violated string
	}{
		{"handed over", func(r *resource) {
			a := r.granted(&grant{owner: "a", token: 1, sent: 1 * ms, received: 2 * ms, end: 100 * ms})
			r.shorten(a, 50*ms)
			r.ended(a)
			r.ended(r.granted(&grant{owner: "b", token: 2, sent: 3 * ms, received: 51 * ms, end: 200 * ms}))
		}, ""},
		{"two hold it", func(r *resource) {
			r.ended(r.granted(&grant{owner: "a", token: 1, sent: 1 * ms, received: 2 * ms, end: 100 * ms}))
			r.ended(r.granted(&grant{owner: "b", token: 2, sent: 3 * ms, received: 51 * ms, end: 200 * ms}))
		}, "two hold it"},
		{"the first one ends last", func(r *resource) {
			a := r.granted(&grant{owner: "a", token: 1, sent: 1 * ms, received: 2 * ms, end: 100 * ms})
			r.ended(r.granted(&grant{owner: "b", token: 2, sent: 3 * ms, received: 51 * ms, end: 60 * ms}))
			r.ended(a)
		}, "two hold it"},
		{"broken in between", func(r *resource) {
			a := r.granted(&grant{owner: "a", token: 1, sent: 1 * ms, received: 2 * ms, end: 100 * ms})
			r.breaking(1, 40*ms)
			r.ended(a)
			r.ended(r.granted(&grant{owner: "b", token: 2, sent: 3 * ms, received: 51 * ms, end: 200 * ms}))
		}, ""},
		{"readers together", func(r *resource) {
			r.shared = true
			r.ended(r.granted(&grant{owner: "a", token: 1, limit: 9, slots: []uint32{0}, sent: 1 * ms, received: 2 * ms,
				end: 100 * ms}))
			r.ended(r.granted(&grant{owner: "b", token: 2, limit: 9, slots: []uint32{1}, sent: 3 * ms,
				received: 51 * ms, end: 200 * ms}))
		}, ""},
		{"a permit that two have", func(r *resource) {
			r.shared = true
			r.ended(r.granted(&grant{owner: "a", token: 1, limit: 9, slots: []uint32{0}, sent: 1 * ms, received: 2 * ms,
				end: 100 * ms}))
			r.ended(r.granted(&grant{owner: "b", token: 2, limit: 9, slots: []uint32{0}, sent: 3 * ms,
				received: 51 * ms, end: 200 * ms}))
		}, "two have permit 0"},
		{"a writer beside a reader", func(r *resource) {
			r.shared = true
			r.ended(r.granted(&grant{owner: "a", token: 1, limit: 9, slots: []uint32{1}, sent: 1 * ms, received: 2 * ms,
				end: 100 * ms}))
			r.ended(r.granted(&grant{owner: "b", token: 2, limit: 1, slots: []uint32{0}, sent: 3 * ms,
				received: 51 * ms, end: 200 * ms}))
		}, "2 permits are held at 51ms, where 1 may be"},
		{"three of a semaphore, never more than two at once", func(r *resource) {
			r.shared = true
			r.ended(r.granted(&grant{owner: "a", token: 1, limit: 2, slots: []uint32{0}, sent: 1 * ms, received: 2 * ms,
				end: 50 * ms}))
			r.ended(r.granted(&grant{owner: "c", token: 3, limit: 2, slots: []uint32{0}, sent: 3 * ms,
				received: 51 * ms, end: 200 * ms}))
			r.ended(r.granted(&grant{owner: "b", token: 2, limit: 2, slots: []uint32{1}, sent: 2 * ms, received: 3 * ms,
				end: 100 * ms}))
		}, ""},
		{"three of a semaphore for two, the last of them seen first", func(r *resource) {
			r.shared = true
			r.ended(r.granted(&grant{owner: "c", token: 3, limit: 2, slots: []uint32{2}, sent: 3 * ms,
				received: 51 * ms, end: 200 * ms}))
			r.ended(r.granted(&grant{owner: "a", token: 1, limit: 3, slots: []uint32{0}, sent: 1 * ms, received: 2 * ms,
				end: 100 * ms}))
			r.ended(r.granted(&grant{owner: "b", token: 2, limit: 3, slots: []uint32{1}, sent: 2 * ms, received: 3 * ms,
				end: 100 * ms}))
		}, "permits are held at 51ms, where 2 may be"},
		{"one token for two", func(r *resource) {
			r.granted(&grant{owner: "a", token: 7, sent: 1 * ms, received: 2 * ms})
			r.granted(&grant{owner: "b", token: 7, sent: 1 * ms, received: 3 * ms})
		}, "token 7 was granted to a and to b"},
		{"the same again", func(r *resource) {
			a := r.granted(&grant{owner: "a", token: 7, sent: 1 * ms, received: 2 * ms})
			if r.granted(&grant{owner: "a", token: 7, sent: 5 * ms, received: 6 * ms}) != a {
				t.Error("the repetition is another grant")
			}
		}, ""},
		{"a token goes back", func(r *resource) {
			r.granted(&grant{owner: "a", token: 7, sent: 1 * ms, received: 2 * ms})
			r.granted(&grant{owner: "b", token: 6, sent: 3 * ms, received: 4 * ms})
		}, "a client had got token 7 already"},
		{"answers that overtake one another", func(r *resource) {
			r.granted(&grant{owner: "a", token: 7, sent: 1 * ms, received: 3 * ms})
			r.granted(&grant{owner: "b", token: 6, sent: 1 * ms, received: 4 * ms})
		}, ""},
		{"an answer that is read late", func(r *resource) {
			r.granted(&grant{owner: "a", token: 9, sent: 1 * ms, received: 10 * ms})
			r.granted(&grant{owner: "b", token: 6, sent: 1 * ms, received: 5 * ms})
			r.granted(&grant{owner: "c", token: 8, sent: 7 * ms, received: 11 * ms})
		}, ""},
		{"a token goes back behind an answer that is read late", func(r *resource) {
			r.granted(&grant{owner: "a", token: 6, sent: 1 * ms, received: 10 * ms})
			r.granted(&grant{owner: "b", token: 9, sent: 1 * ms, received: 5 * ms})
			r.granted(&grant{owner: "c", token: 8, sent: 7 * ms, received: 11 * ms})
		}, "a client had got token 9 already"},
		{"a token goes back behind answers that are read late", func(r *resource) {
			r.granted(&grant{owner: "a", token: 6, sent: 1 * ms, received: 10 * ms})
			r.granted(&grant{owner: "b", token: 9, sent: 1 * ms, received: 5 * ms})
			r.granted(&grant{owner: "c", token: 8, sent: 11 * ms, received: 12 * ms})
		}, "a client had got token 9 already"},
		{"out of turn", func(r *resource) {
			r.granted(&grant{owner: "a", token: 2, route: direct, place: 8, sent: 1 * ms, received: 3 * ms})
			r.granted(&grant{owner: "b", token: 3, route: direct, place: 7, sent: 1 * ms, received: 4 * ms})
		}, "out of its turn"},
		{"no journal has it", func(r *resource) {
			r.granted(&grant{owner: "a", token: 1, sent: 1 * ms, received: 2 * ms})
			r.checkMatched()
		}, "no journal has it"},
		{"the journal has another", func(r *resource) {
			r.granted(&grant{owner: "a", token: 1, sent: 1 * ms, received: 2 * ms})
			r.journaled(1, "b", 3*ms)
		}, "one of client and journal says"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			ctx, cancel := context.WithCancelCause(t.Context())
			defer cancel(nil)
			run, err := newRun(config{resources: 4, shards: 1}, cancel)
			if err != nil {
				t.Fatal(err)
			}
			test.play(run.resources[0])
			switch err := context.Cause(ctx); {
			case test.violated == "" && err != nil:
				t.Error(err)
			case test.violated != "" && (!errors.Is(err, errViolated) || !strings.Contains(err.Error(), test.violated)):
				t.Errorf("got %v, want %q", err, test.violated)
			}
		})
	}
}
