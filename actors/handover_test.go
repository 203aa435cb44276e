package actors_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/holdfast-io/holdfast/actors"
	"github.com/holdfast-io/holdfast/actors/lease"
	"github.com/holdfast-io/holdfast/messages"
)

// passed keeps what a shard has passed on.
type passed struct {
	mu       sync.Mutex
	requests []*actors.Request
}

func (p *passed) add(r *actors.Request) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.requests = append(p.requests, r)
}

func (p *passed) all() []*actors.Request {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.requests)
}

// inboxes says where the answers to all that was passed are to go, of one resource or, if it is
// empty, of all.
func (p *passed) inboxes(resource string) (inboxes []string) {
	for _, r := range p.all() {
		if resource == "" || r.Resource == resource {
			inboxes = append(inboxes, inboxOf(r))
		}
	}
	return inboxes
}

func inboxOf(r *actors.Request) string {
	switch e := r.Event.(type) {
	case lease.Acquire:
		return e.From.Subject
	case lease.Release:
		return e.From.Subject
	case lease.Extend:
		return e.From.Subject
	case lease.Get:
		return e.From.Subject
	case lease.Break:
		return e.From.Subject
	default:
		return fmt.Sprintf("nowhere: %T", e)
	}
}

// inYieldingWorld runs test with a shard that is open, yields, and passes on.
func inYieldingWorld(t *testing.T, tuning actors.Tuning, test func(w *world)) {
	t.Helper()
	inClosedWorld(t, tuning, func(w *world) {
		w.passed, w.yields = &passed{}, true
		w.open()
		test(w)
	})
}

// successor is another node on the same journal, with an actor system of its own and the same clients.
// Its shard is not open.
func (w *world) successor() *world {
	next := *w
	next.journal, next.passed, next.log = w.journal.Rival(), &passed{}, new(log)
	next.system, next.shard = nil, nil
	next.asked += 1_000_000
	return &next
}

// takeOver sends on to this node what another one has passed.
func (w *world) takeOver(p *passed) {
	w.Helper()
	for _, r := range p.all() {
		if a, ok := r.Event.(lease.Acquire); ok {
			a.MaxWaiting = 100
			r = &actors.Request{Resource: r.Resource, Event: a}
		}
		must(w.T, w.shard.Tell(r))
	}
	synctest.Wait()
}

func (w *world) handOver() {
	w.Helper()
	must(w.T, w.shard.HandOver(w.Context()))
	w.wantEnded()
}

// wantEnded checks that nothing goes in any more.
func (w *world) wantEnded() {
	w.Helper()
	synctest.Wait()
	if s := w.shard.Standing(); s != actors.Ended {
		w.Errorf("the shard is %v", s)
	}
	if err := w.shard.Tell(&actors.Request{Resource: "r", Event: get()}); !errors.Is(err, actors.ErrEnded) || !errors.Is(err, actors.ErrUnavailable) {
		w.Errorf("it took a request: %v", err)
	}
	if _, _, err := w.shard.List(w.Context(), actors.Listing{Limit: 1}); !errors.Is(err, actors.ErrUnavailable) {
		w.Errorf("it lists: %v", err)
	}
}

// wantPassed checks what was passed, in any order.
func (w *world) wantPassed(inboxes ...string) {
	w.Helper()
	synctest.Wait()
	got := w.passed.inboxes("")
	slices.Sort(got)
	slices.Sort(inboxes)
	if !slices.Equal(got, inboxes) {
		w.Errorf("passed %v, want %v", got, inboxes)
	}
}

func TestHandOver(t *testing.T) {
	inYieldingWorld(t, actors.Tuning{}, func(w *world) {
		w.want(messages.Status_GRANTED, 1, "r", acquire("a", time.Minute))
		w.want(messages.Status_GRANTED, 1, "volatile", ephemeral(time.Minute))
		first := w.send("r", waiting(time.Minute, 10*time.Second))
		synctest.Wait()
		second := w.send("r", waiting(time.Minute, 20*time.Second))
		w.pass(1500 * time.Millisecond)
		before, number := w.journal.Appends(), len(w.journal.Records())
		w.handOver()
		if n := w.journal.Appends() - before; n != 0 {
			w.Errorf("%d appends, though nothing was on its way", n)
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
		if w.shard.Epoch() != 1 || next.shard.Epoch() != 2 || len(w.journal.Records()) != number+1 {
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

// What is decided is stored and answered; what comes later is passed, behind those who waited.
func TestHandOverWithAnAppendOnItsWay(t *testing.T) {
	inYieldingWorld(t, actors.Tuning{}, func(w *world) {
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
		if s := w.shard.Standing(); s != actors.Leaving {
			w.Errorf("the shard is %v", s)
		}
		for _, inbox := range []string{inflight, pending} {
			if r := w.answer(inbox); r != nil {
				w.Errorf("got %v before it was stored", r)
			}
		}
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

// Without a successor to pass to, those who cannot be served hear so.
func TestHandOverToNobody(t *testing.T) {
	inWorld(t, actors.Tuning{}, func(w *world) {
		w.want(messages.Status_GRANTED, 1, "r", acquire("a", time.Minute))
		waiter := w.send("r", waiting(time.Minute, time.Minute))
		synctest.Wait()
		w.handOver()
		w.check(w.answer(waiter), messages.Status_UNAVAILABLE, 0)
	})
}

// Whatever the moment, each request is answered or passed once, and each resource serves those who
// wait in the order in which they came, on however many nodes.
func TestHandOverUnderLoad(t *testing.T) {
	for seed := range uint64(10) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			inYieldingWorld(t, actors.Tuning{CommitChanges: 20}, func(w *world) {
				w.journal.Before(slowDisk)
				l := &load{random: rand.New(rand.NewPCG(seed, 1)), came: map[string][]string{}, world: w, owner: w}
				for range 5 {
					l.run(l.random.IntN(300))
					old := l.owner
					next := old.successor()
					next.journal.Before(slowDisk)
					defer next.close()
					if seed%2 == 0 {
						l.handOver(old)
						next.open()
					} else {
						next.open()
						l.depose(old)
					}
					l.wantOnce(old)
					next.takeOver(old.passed)
					l.owner = next
				}
				l.finish()
				checkJournal(w.T, w.journal.Records())
			})
		})
	}
}

func slowDisk(context.Context, *messages.Record) error {
	<-time.After(2 * time.Millisecond)
	return nil
}

// load is many clients of a few resources.
type load struct {
	*world
	random *rand.Rand
	owner  *world
	// came are the inboxes of those who want each resource, in the order of their coming; all are the
	// inboxes of everybody.
	came map[string][]string
	all  []string
}

// handOver hands over while requests go on coming.
func (l *load) handOver(old *world) {
	done := make(chan error, 1)
	go func() { done <- old.shard.HandOver(l.Context()) }()
	l.run(l.random.IntN(20))
	must(l.T, <-done)
}

// depose lets the old owner find out, while requests go on coming, that it is one no more.
func (l *load) depose(old *world) {
	l.run(l.random.IntN(20))
	old.shard.Prove()
	l.pass(10 * time.Millisecond)
	old.wantEnded()
}

// run has so many requests sent.
func (l *load) run(n int) {
	for range n {
		resource := fmt.Sprint("r", l.random.IntN(5))
		want := waiting(time.Hour, time.Hour)
		want.Request.RequestId = fmt.Sprint("id", l.random.Uint64())
		queues := l.random.IntN(4) == 0 && len(l.came[resource]) < 90
		event := []lease.Event{get(), release("x"), extend("b", time.Hour)}[l.random.IntN(3)]
		if queues || len(l.came[resource]) == 0 {
			queues, event = true, want
		}
		inbox, ok := l.try(resource, event)
		if !ok {
			continue
		}
		l.all = append(l.all, inbox)
		if queues {
			l.came[resource] = append(l.came[resource], inbox)
		}
		if l.random.IntN(4) == 0 {
			<-time.After(time.Duration(l.random.IntN(2000)) * time.Microsecond)
		}
	}
}

// try sends a request, unless the shard has ended.
func (l *load) try(resource string, e lease.Event) (inbox string, ok bool) {
	if l.owner.shard.Standing() == actors.Ended {
		return "", false
	}
	return l.owner.send(resource, e), true
}

// wantOnce checks that all who asked are answered or passed, and nobody both.
func (l *load) wantOnce(old *world) {
	l.Helper()
	synctest.Wait()
	handed := old.passed.inboxes("")
	seen := map[string]bool{}
	for _, inbox := range handed {
		if seen[inbox] || len(l.answers.at(inbox)) > 0 {
			l.Errorf("%s was passed, and was passed before or answered", inbox)
		}
		seen[inbox] = true
	}
	for _, inbox := range l.all {
		if !seen[inbox] && len(l.answers.at(inbox)) != 1 {
			l.Errorf("%s got %d answers and was not passed", inbox, len(l.answers.at(inbox)))
		}
	}
}

// finish lets all resources go round to everybody who waits, in their order.
func (l *load) finish() {
	l.Helper()
	for resource, inboxes := range l.came {
		inboxes = slices.DeleteFunc(inboxes, func(inbox string) bool {
			return len(l.answers.at(inbox)) > 0 && l.answer(inbox).GetStatus() == messages.Status_UNAVAILABLE
		})
		for i, inbox := range inboxes {
			l.pass(10 * time.Millisecond)
			r := l.answer(inbox)
			l.check(r, messages.Status_GRANTED, uint64(i)+1)
			give := release("b")
			give.Request.Token = uint64(i) + 1
			inbox = l.owner.send(resource, give)
			l.pass(10 * time.Millisecond)
			l.check(l.answer(inbox), messages.Status_RELEASED, 0)
		}
	}
}

// A successor that does not wait for the end deposes its predecessor, which passes on what it has
// not decided and ends.
func TestDeposedShardThatYields(t *testing.T) {
	inYieldingWorld(t, actors.Tuning{}, func(w *world) {
		w.want(messages.Status_GRANTED, 1, "r", acquire("a", time.Minute))
		waiter := w.send("r", waiting(time.Minute, time.Minute))
		synctest.Wait()
		letGo := w.hold()
		inflight := w.send("s", acquire("a", time.Minute))
		synctest.Wait()
		pending := w.send("s", release("a"))
		synctest.Wait()
		next := w.successor()
		next.open()
		defer next.close()
		letGo(nil)
		for _, inbox := range []string{inflight, pending} {
			w.check(w.answer(inbox), messages.Status_UNAVAILABLE, 0)
		}
		w.wantEnded()
		w.wantPassed(waiter)
		w.pass(time.Minute) // it is not opened again
		w.wantEnded()
		if next.shard.Epoch() != 2 || next.shard.Standing() != actors.Open {
			w.Errorf("the successor is %v in epoch %d", next.shard.Standing(), next.shard.Epoch())
		}
		must(w.T, w.shard.HandOver(w.Context()))
		must(w.T, w.shard.Close(w.Context()))
	})
}

// Whoever has lost its journal for another reason than a successor stays the owner.
func TestShardThatYieldsOpensAgain(t *testing.T) {
	for _, err := range []error{messages.ErrUnknown, messages.ErrNotStored} {
		inYieldingWorld(t, actors.Tuning{}, func(w *world) {
			letGo := w.hold()
			w.send("r", acquire("a", time.Minute))
			letGo(err)
			synctest.Wait()
			if s := w.shard.Standing(); s != actors.Opening {
				w.Errorf("the shard is %v", s)
			}
			w.pass(2 * time.Second)
			if s := w.shard.Standing(); s != actors.Open || w.shard.Epoch() != 2 {
				w.Errorf("the shard is %v in epoch %d", s, w.shard.Epoch())
			}
			w.wantPassed()
		})
	}
}

func TestProve(t *testing.T) {
	inYieldingWorld(t, actors.Tuning{}, func(w *world) {
		before := w.journal.Appends()
		w.shard.Prove()
		synctest.Wait()
		if n := w.journal.Appends() - before; n != 1 || w.shard.Standing() != actors.Open {
			w.Errorf("%d appends; the shard is %v", n, w.shard.Standing())
		}
		letGo := w.hold()
		w.send("r", acquire("a", time.Minute))
		synctest.Wait()
		w.shard.Prove() // the append that is on its way is proof enough
		letGo(nil)
		synctest.Wait()
		if n := w.journal.Appends() - before; n != 2 {
			w.Errorf("%d appends", n)
		}

		next := w.successor()
		next.open()
		defer next.close()
		synctest.Wait()
		if s := w.shard.Standing(); s != actors.Open {
			w.Errorf("the shard is %v, though it cannot know yet", s)
		}
		w.shard.Prove()
		w.wantEnded()
		w.shard.Prove()
		w.wantEnded()
	})
}

func TestHandOverOfAShardThatIsBeingOpened(t *testing.T) {
	inClosedWorld(t, actors.Tuning{}, func(w *world) {
		w.passed = &passed{}
		w.hold()
		w.start()
		synctest.Wait()
		early := w.send("r", get())
		w.check(w.answer(early), messages.Status_UNAVAILABLE, 0)
		w.handOver()
		if err := w.shard.Opened(w.Context()); !errors.Is(err, actors.ErrEnded) {
			w.Errorf("opened: %v", err)
		}
		if w.shard.Epoch() != 0 || len(w.journal.Records()) != 0 {
			w.Error("it was opened")
		}
	})
}

// An append that never ends holds a hand-over up no longer than its context.
func TestHandOverWithoutTime(t *testing.T) {
	inYieldingWorld(t, actors.Tuning{}, func(w *world) {
		w.want(messages.Status_GRANTED, 1, "r", acquire("a", time.Minute))
		waiter := w.send("r", waiting(time.Minute, time.Minute))
		synctest.Wait()
		w.hold()
		inflight := w.send("s", acquire("a", time.Minute))
		synctest.Wait()
		pending := w.send("t", acquire("a", time.Minute))
		w.pass(actors.DefaultTuning().StallAfter + 1)
		stalled := w.send("t", get())
		w.check(w.answer(stalled), messages.Status_UNAVAILABLE, 0)

		ctx, cancel := context.WithTimeout(w.Context(), time.Second)
		defer cancel()
		done := make(chan error, 1)
		go func() { done <- w.shard.HandOver(ctx) }()
		synctest.Wait()
		late := w.send("r", release("a"))
		w.wantPassed()
		if err := <-done; !errors.Is(err, context.DeadlineExceeded) {
			w.Errorf("hand over: %v", err)
		}
		w.wantEnded()
		w.wantPassed(waiter, late)
		w.check(w.answer(pending), messages.Status_UNAVAILABLE, 0)
		if r := w.answer(inflight); r != nil {
			w.Errorf("got %v where the outcome is unknown", r)
		}
		w.shard = nil
	})
}

// A hand-over whose last append is refused, or is not known to be stored, ends like any other.
func TestHandOverThatLosesItsJournal(t *testing.T) {
	for _, fault := range []error{messages.ErrConflict, messages.ErrNotStored, messages.ErrUnknown} {
		t.Run(fault.Error(), func(t *testing.T) {
			inYieldingWorld(t, actors.Tuning{}, func(w *world) {
				w.want(messages.Status_GRANTED, 1, "r", acquire("a", time.Minute))
				waiter := w.send("r", waiting(time.Minute, time.Minute))
				letGo := w.hold()
				inflight := w.send("s", acquire("a", time.Minute))
				synctest.Wait()
				done := make(chan error, 1)
				go func() { done <- w.shard.HandOver(w.Context()) }()
				letGo(fault)
				err := <-done
				w.wantEnded()
				w.wantPassed(waiter)
				if unknown := errors.Is(fault, messages.ErrUnknown); unknown != (err != nil) || unknown != (w.answer(inflight) == nil) {
					w.Errorf("hand over: %v; answered: %v", err, w.answer(inflight))
				}
				w.shard = nil
			})
		})
	}
}

// A resource that panics when its queue is asked for loses that, as it does at any other time, and
// holds nothing up.
func TestPanicOfAResourceDuringHandOver(t *testing.T) {
	inYieldingWorld(t, actors.Tuning{}, func(w *world) {
		w.want(messages.Status_GRANTED, 1, "r", acquire("a", time.Minute))
		lost := w.send("r", waiting(time.Minute, time.Minute))
		synctest.Wait()
		w.clock.panicAfter(0)
		w.handOver()
		w.wantPassed()
		if !strings.Contains(w.log.String(), "panic in a resource") || w.answer(lost) != nil {
			w.Error("nothing panicked: the test is vacuous")
		}
		next := w.successor()
		next.open()
		defer next.close()
		next.want(messages.Status_HELD, 1, "r", get())
	})
}

// What is held back until a resource that panicked has its state again is neither lost nor counted
// for ever when it never gets that.
func TestShardLostWhileAResourceHasNoState(t *testing.T) {
	for _, yields := range []bool{true, false} {
		t.Run(fmt.Sprint("yields ", yields), func(t *testing.T) {
			inClosedWorld(t, actors.Tuning{MaxPending: 5}, func(w *world) {
				w.passed, w.yields = &passed{}, yields
				w.open()
				letGo := w.hold()
				inflight := w.send("r", acquire("a", time.Minute))
				synctest.Wait()
				w.clock.panicAfter(1) // with an append on its way, the shard reads the clock first
				w.send("r", extend("a", time.Minute))
				synctest.Wait()
				held := []string{w.send("r", get()), w.send("r", release("a"))}
				synctest.Wait()
				next := w.successor()
				next.open()
				defer next.close()
				letGo(nil)
				w.check(w.answer(inflight), messages.Status_UNAVAILABLE, 0)
				if !strings.Contains(w.log.String(), "panic in a resource") {
					w.Error("nothing panicked: the test is vacuous")
				}
				if yields {
					w.wantEnded()
					w.wantPassed(held...)
					return
				}
				for _, inbox := range held {
					w.check(w.answer(inbox), messages.Status_UNAVAILABLE, 0)
				}
				w.handOver() // it would not end if one were still counted
			})
		})
	}
}

// A shard that panics while it leaves does not come back.
func TestPanicOfAShardDuringHandOver(t *testing.T) {
	inYieldingWorld(t, actors.Tuning{}, func(w *world) {
		letGo := w.hold()
		w.send("r", acquire("a", time.Minute))
		synctest.Wait()
		w.answers.before = func(lease.Answer) {
			w.answers.before = nil
			panic("ordered by the test")
		}
		done := make(chan error, 1)
		go func() { done <- w.shard.HandOver(w.Context()) }()
		letGo(nil)
		if err := <-done; err == nil {
			w.Error("nobody hears that requests were left without an answer")
		}
		w.wantEnded()
		if n := w.journal.Appends(); n != 2 {
			w.Errorf("%d appends: it was opened again", n)
		}
		w.shard = nil
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
			w.Error("the successor had to wait for an append that nobody needs")
		}
	})
}

// Whoever is told that the standing has changed sees each one there is.
func TestStandings(t *testing.T) {
	inClosedWorld(t, actors.Tuning{}, func(w *world) {
		var mu sync.Mutex
		changes := 0
		w.changed = func() {
			mu.Lock()
			defer mu.Unlock()
			changes++
		}
		check := func(s actors.Standing, n int) {
			w.Helper()
			synctest.Wait()
			mu.Lock()
			defer mu.Unlock()
			if w.shard.Standing() != s || changes != n {
				w.Errorf("the shard is %v after %d changes, want %v after %d", w.shard.Standing(), changes, s, n)
			}
		}
		letGo := w.hold()
		w.start()
		check(actors.Opening, 0)
		letGo(nil)
		check(actors.Open, 1)
		letGo = w.hold()
		w.send("r", acquire("a", time.Minute))
		letGo(messages.ErrNotStored)
		check(actors.Opening, 2)
		w.pass(2 * time.Second)
		check(actors.Open, 3)
		letGo = w.hold()
		w.send("r", acquire("a", time.Minute))
		synctest.Wait()
		go func() { must(w.T, w.shard.HandOver(w.Context())) }()
		check(actors.Leaving, 4)
		letGo(nil)
		check(actors.Ended, 5)
	})
}

// However the last requests and the end of the shard meet, what was taken is answered or passed.
func TestRequestsThatMeetTheEnd(t *testing.T) {
	for range 10 {
		inYieldingWorld(t, actors.Tuning{}, func(w *world) {
			var wg sync.WaitGroup
			taken := make([]int, 4)
			for i := range taken {
				wg.Go(func() {
					for range 1000 {
						to := messages.ReplyTo{Subject: fmt.Sprintf("inbox.%d.%d", i, taken[i])}
						e := lease.Get{Request: &messages.GetRequest{}, From: to}
						if w.shard.Tell(&actors.Request{Resource: fmt.Sprint(i), Event: e}) != nil {
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
	inYieldingWorld(t, actors.Tuning{}, func(w *world) {
		done := make(chan error, 2)
		go func() { done <- w.shard.HandOver(w.Context()) }()
		go func() { done <- w.shard.Close(w.Context()) }()
		must(w.T, <-done)
		must(w.T, <-done)
		w.handOver()
	})
}
