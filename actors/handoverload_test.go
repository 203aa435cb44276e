package actors_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/holdfast-io/holdfast/actors"
	"github.com/holdfast-io/holdfast/actors/lease"
	"github.com/holdfast-io/holdfast/messages"
	"github.com/holdfast-io/holdfast/messages/journal"
)

// Whatever the moment, each request is answered or passed once, and each resource serves waiting
// requests in the order in which they came, on however many nodes.
func TestHandOverUnderLoad(t *testing.T) {
	for seed := range uint64(10) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			inPassingWorld(t, actors.Tuning{CommitDecisions: 20}, func(w *world) {
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

func slowDisk(context.Context, *journal.Record) error {
	<-time.After(2 * time.Millisecond)
	return nil
}

// load is many clients of a few resources.
type load struct {
	*world
	random *rand.Rand
	owner  *world
	// came are the inboxes of the requests for each resource, in the order of their arrival; all are the
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
	old.shard.Barrier()
	l.pass(10 * time.Millisecond)
	old.wantEnded()
}

// run sends this number of requests.
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
	if l.owner.shard.State() == actors.Ended {
		return "", false
	}
	return l.owner.send(resource, e), true
}

// wantOnce checks that each request is answered or passed, and none both.
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

// finish lets all resources go round to every waiting request, in their order.
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
