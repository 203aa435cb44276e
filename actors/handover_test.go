package actors_test

import (
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/holdfast-io/holdfast/actors"
	"github.com/holdfast-io/holdfast/actors/lease"
	"github.com/holdfast-io/holdfast/messages"
)

func TestHandOver(t *testing.T) {
	inPassingWorld(t, actors.Tuning{}, func(w *world) {
		w.want(messages.Status_GRANTED, 1, "r", acquire("a", time.Minute))
		w.want(messages.Status_GRANTED, 1, "volatile", ephemeral(time.Minute))
		first := w.send("r", waiting(time.Minute, 10*time.Second))
		synctest.Wait()
		second := w.send("r", waiting(time.Minute, 20*time.Second))
		w.pass(1500 * time.Millisecond)
		before, number := w.journal.Appends(), len(w.journal.Records())
		w.handOver()
		if n := w.journal.Appends() - before; n != 1 {
			w.Errorf("%d appends, want the one that hands over", n)
		}
		if got := w.passed.inboxes("r"); !slices.Equal(got, []string{first, second}) {
			w.Errorf("passed %v, want %v", got, []string{first, second})
		}
		for i, left := range []uint32{8500, 18500} {
			if got := w.passed.all()[i].Event.(lease.Acquire).Request.GetWaitMs(); got != left {
				w.Errorf("waiter %d has %d ms left, want %d", i, got, left)
			}
		}

		next := w.successor()
		next.open()
		defer next.close()
		if w.shard.Epoch() != 1 || next.shard.Epoch() != 2 || len(w.journal.Records()) != number+2 {
			w.Errorf("epochs %d and %d", w.shard.Epoch(), next.shard.Epoch())
		}
		next.takeOver(w.passed)
		next.want(messages.Status_FREE, 0, "volatile", get())
		if r := next.ask("volatile", ephemeral(time.Minute)); r.GetLease().GetToken() <= 1 {
			w.Errorf("got %v, want a higher token", r)
		}
		next.want(messages.Status_RELEASED, 0, "r", release("a"))
		next.check(next.answer(first), messages.Status_GRANTED, 2)
		next.pass(18500 * time.Millisecond)
		next.check(next.answer(second), messages.Status_TIMEOUT, 0)
	})
}

// What is decided is stored and answered; what comes later is passed, behind the queued requests.
func TestHandOverWithAnAppendOnItsWay(t *testing.T) {
	inPassingWorld(t, actors.Tuning{}, func(w *world) {
		w.want(messages.Status_GRANTED, 1, "r", acquire("a", time.Minute))
		waiter := w.send("r", waiting(time.Minute, time.Minute))
		letGo := w.hold()
		inflight := w.send("s", acquire("a", time.Minute))
		synctest.Wait()
		pending := w.send("s", release("a"))
		synctest.Wait()
		done := make(chan error, 1)
		go func() { done <- w.shard.HandOver(w.Context()) }()
		synctest.Wait()
		late := w.send("r", waiting(time.Minute, time.Minute))
		later := w.send("r", release("a"))
		if s := w.shard.State(); s != actors.Draining {
			w.Errorf("the shard is %v", s)
		}
		w.wantNone("before it was stored", inflight, pending)
		letGo(nil)
		must(w.T, <-done)
		w.wantEnded()
		w.check(w.answer(inflight), messages.Status_GRANTED, 1)
		w.check(w.answer(pending), messages.Status_RELEASED, 0)
		if got, want := w.passed.inboxes(""), []string{waiter, late, later}; !slices.Equal(got, want) {
			w.Errorf("passed %v, want %v", got, want)
		}
	})
}

// Without a successor to pass to, undecided requests are refused.
func TestHandOverToNobody(t *testing.T) {
	inWorld(t, actors.Tuning{}, func(w *world) {
		w.want(messages.Status_GRANTED, 1, "r", acquire("a", time.Minute))
		waiter := w.send("r", waiting(time.Minute, time.Minute))
		synctest.Wait()
		w.handOver()
		w.check(w.answer(waiter), messages.Status_UNAVAILABLE, 0)
	})
}

// A successor does not wait for events; it publishes those that its predecessor could not.
func TestHandOverDoesNotWaitForEvents(t *testing.T) {
	inClosedWorld(t, actors.Tuning{}, func(w *world) {
		p := &press{}
		w.publisher, w.passed = p, &passed{}
		w.open()
		letGo := p.hold()
		defer letGo()
		w.lockAndUnlock("x")
		begin := time.Now()
		w.handOver()
		if took := time.Since(begin); took == 0 || took > 100*time.Millisecond {
			w.Errorf("the hand-over took %v", took)
		}
		next := w.successor()
		q := &press{}
		next.publisher = q
		next.open()
		defer next.close()
		w.wantEvents(q.take(), w.committed())
	})
}

func TestHandOverPublishesWhatItCan(t *testing.T) {
	inWatchedWorld(t, actors.Tuning{}, func(w *world, p *press) {
		w.want(messages.Status_GRANTED, 1, "x", acquire("a", time.Minute))
		letGo := w.hold()
		w.send("x", release("a"))
		synctest.Wait()
		go letGo(nil)
		begin := time.Now()
		w.handOver()
		if took := time.Since(begin); took != 0 {
			w.Errorf("the hand-over took %v", took)
		}
		w.wantEvents(p.take(), w.committed())
		records := w.journal.Records()
		if len(records[len(records)-1].GetCommit().GetChanges()) == 0 {
			w.Error("the successor had to wait for an append without need")
		}
	})
}

// However the last requests and the end of the shard meet, what was taken is answered or passed.
func TestRequestsThatMeetTheEnd(t *testing.T) {
	for range 10 {
		inPassingWorld(t, actors.Tuning{}, func(w *world) {
			var wg sync.WaitGroup
			taken := make([]int, 4)
			for i := range taken {
				wg.Go(func() {
					for range 1000 {
						to := messages.ReplyTo{Subject: fmt.Sprintf("inbox.%d.%d", i, taken[i])}
						e := lease.Get{Request: &messages.GetRequest{}, From: to}
						_, err := w.shard.SendAll([]actors.Request{{Resource: fmt.Sprint(i), Event: e}})
						if err != nil {
							return
						}
						taken[i]++
					}
				})
			}
			w.handOver()
			wg.Wait()
			handed := map[string]int{}
			for _, inbox := range w.passed.inboxes("") {
				handed[inbox]++
			}
			for i, n := range taken {
				for k := range n {
					inbox := fmt.Sprintf("inbox.%d.%d", i, k)
					if got := handed[inbox] + len(w.answers.at(inbox)); got != 1 {
						w.Errorf("%s was answered or passed %d times", inbox, got)
					}
				}
			}
		})
	}
}

// An ended shard can be asked to end as often as one likes.
func TestEndingTwice(t *testing.T) {
	inPassingWorld(t, actors.Tuning{}, func(w *world) {
		done := make(chan error, 2)
		go func() { done <- w.shard.HandOver(w.Context()) }()
		go func() { done <- w.shard.Close(w.Context()) }()
		must(w.T, <-done)
		must(w.T, <-done)
		w.handOver()
	})
}
