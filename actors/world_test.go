package actors_test

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/holdfast-io/holdfast/actors"
	"github.com/holdfast-io/holdfast/actors/journaltest"
	"github.com/holdfast-io/holdfast/actors/lease"
	"github.com/holdfast-io/holdfast/actors/node/tracing"
	"github.com/holdfast-io/holdfast/messages"
	"github.com/holdfast-io/holdfast/messages/journal"
)

// world is a shard over a journal in memory, in a bubble where time stands still until a
// test waits for it.
type world struct {
	*testing.T
	journal *journaltest.Memory
	// over is what the shard sees of the journal; nil: the journal itself.
	over    actors.Journal
	clock   *clock
	tuning  actors.Tuning
	answers *answers
	system  *actors.System
	shard   *actors.Shard
	quota   *actors.Quota
	// publisher is nil unless the test is about events.
	publisher actors.Publisher
	// passed gets what the shard passes on; nil: it passes nothing on. changed is called for each change
	// of its state.
	passed *passed
	// voided is what a shard asks that finds its journal closed; nil: no register is there.
	voided func(context.Context, uint32) error
	// prober is nil unless the test is about clients that are not connected.
	prober actors.Prober
	// traced: the shard notes in traces, and trace is that of the requests from now on; nil: they have none.
	traced  bool
	trace   *messages.Trace
	changed func()
	// observer is nil unless the test is about what it receives.
	observer actors.Observer
	// node is the name of the node; empty: n1.
	node  string
	log   *log
	asked int
}

// inWorld runs test in a bubble, with a shard that is open.
func inWorld(t *testing.T, tuning actors.Tuning, test func(w *world)) {
	t.Helper()
	inClosedWorld(t, tuning, func(w *world) {
		w.open()
		test(w)
	})
}

// inClosedWorld leaves it to the test to open the shard.
func inClosedWorld(t *testing.T, tuning actors.Tuning, test func(w *world)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		w := &world{
			T: t, journal: journaltest.NewMemory(), clock: &clock{Clock: actors.SystemClock()}, tuning: tuning,
			log: new(log), answers: &answers{replies: make(map[string][]*messages.Reply)},
		}
		defer w.close()
		test(w)
	})
}

func (w *world) open() {
	w.Helper()
	w.start()
	if err := w.shard.Opened(w.Context()); err != nil {
		w.Fatal(err)
	}
	if s := w.shard.State(); s != actors.Open {
		w.Fatalf("an opened shard is %v", s)
	}
}

// start begins to open the shard.
func (w *world) start() {
	cfg := actors.ShardConfig{
		Shard: 3, Node: cmp.Or(w.node, "n1"), Journal: w.journal, Clock: w.clock, Outbox: w.answers,
		Publisher: w.publisher, Prober: w.prober,
		Log: slog.New(slog.NewTextHandler(io.MultiWriter(w.Output(), w.log), nil)), Tuning: w.tuning, Quota: w.quota,
		Changed: w.changed, Observer: w.observer, Voided: w.voided,
	}
	if w.traced {
		cfg.Witness = func() actors.Witness { return tracing.NewHolders() }
	}
	if w.over != nil {
		cfg.Journal = w.over
	}
	if w.passed != nil {
		cfg.Pass = w.passed.add
	}
	if w.system == nil {
		w.system = actors.NewSystem(slog.New(slog.DiscardHandler))
	}
	w.shard = w.system.StartShard(cfg)
}

func (w *world) close() {
	w.Helper()
	defer w.endSystem()
	if w.shard == nil {
		return
	}
	ctx, cancel := context.WithTimeout(w.Context(), time.Minute)
	defer cancel()
	if err := w.shard.Close(ctx); err != nil {
		w.Error(err)
	}
	w.shard = nil
}

func (w *world) endSystem() {
	if w.system != nil {
		w.system.Close()
		w.system = nil
		w.pass(2 * time.Second) // Proto.Actor counts dead letters for one
	}
}

// reopen ends the shard as if its process had died, which hands nothing over, and opens it again from its journal.
func (w *world) reopen() {
	w.Helper()
	w.journal.Before(func(_ context.Context, r *journal.Record) error {
		if r.GetCommit().GetHandOver() != nil {
			return journal.ErrNotStored
		}
		return nil
	})
	w.close()
	w.journal.Before(nil)
	w.open()
}

// restart stops the shard, and opens it again from its journal some time later.
func (w *world) restart(later time.Duration) {
	w.Helper()
	w.close()
	w.pass(later)
	w.open()
}

// pass lets time pass, and all that it brings happen.
func (w *world) pass(d time.Duration) {
	<-time.After(d)
	synctest.Wait()
}

// actors returns how many resources have an actor.
func (w *world) actors() int {
	c, err := w.shard.Census(context.Background())
	if err != nil {
		w.Fatal(err)
	}
	return c.Actors
}

// send sends a request and returns where its answer will be.
func (w *world) send(resource string, e lease.Event) string {
	w.Helper()
	e, inbox := w.addressed(e, false)
	if _, err := w.shard.SendAll([]actors.Request{*w.request(resource, e)}); err != nil {
		w.Fatal(err)
	}
	return inbox
}

// request returns a request that counts for the tenant of its resource.
func (w *world) request(resource string, e lease.Event) *actors.Request {
	r := &actors.Request{Resource: resource, Event: e}
	if tenant, _ := messages.Unqualify(resource); w.quota != nil {
		r.Share = w.quota.Tenant(tenant)
	}
	return r
}

// addressed returns a request with an inbox of its own, alone or in a batch, and the inbox.
func (w *world) addressed(e lease.Event, batched bool) (lease.Event, string) {
	w.Helper()
	w.asked++
	inbox := fmt.Sprint("inbox.", w.asked)
	to := messages.ReplyTo{Subject: inbox, Batched: batched, Origin: messages.Origin{Trace: w.trace}}
	switch event := e.(type) {
	case lease.Acquire:
		event.From, event.MaxWaiting = to, 100
		e = event
	case lease.Release:
		event.From = to
		e = event
	case lease.Extend:
		event.From = to
		e = event
	case lease.Get:
		event.From = to
		e = event
	case lease.Break:
		event.From = to
		e = event
	case lease.Set:
		event.From = to
		e = event
	case lease.Confirm:
		event.From = to
		e = event
	case lease.Keep:
		event.From = to
		e = event
	case lease.EndSession:
		event.From = to
		e = event
	case lease.Undeliverable, lease.Dismiss, lease.Surrender, lease.Tick:
		w.Fatalf("%T asks nothing", e)
	}
	return e, inbox
}

// ask sends a request and returns its answer, nil if there is none without time passing.
func (w *world) ask(resource string, e lease.Event) *messages.Reply {
	w.Helper()
	inbox := w.send(resource, e)
	return w.answer(inbox)
}

// answer returns the one answer that has come to an inbox, nil if there is none yet.
func (w *world) answer(inbox string) *messages.Reply {
	w.Helper()
	synctest.Wait()
	replies := w.answers.at(inbox)
	switch len(replies) {
	case 0:
		return nil
	case 1:
		return replies[0]
	default:
		w.Fatalf("%s got %d answers: %v", inbox, len(replies), replies)
		return nil
	}
}

// wantNone checks that requests have no answer yet; when says in which case they may not.
func (w *world) wantNone(when string, inboxes ...string) {
	w.Helper()
	for _, inbox := range inboxes {
		if r := w.answer(inbox); r != nil {
			w.Errorf("%s was answered %v %s", inbox, r, when)
		}
	}
}

// want asks and checks the status of the answer, and its token unless that is 0.
func (w *world) want(status messages.Status, token uint64, resource string, e lease.Event) {
	w.Helper()
	w.check(w.ask(resource, e), status, token)
}

func (w *world) check(r *messages.Reply, status messages.Status, token uint64) {
	w.Helper()
	if r == nil {
		w.Fatalf("no answer, want %s", status)
	}
	if r.GetStatus() != status || token != 0 && r.GetLease().GetToken() != token {
		w.Fatalf("got %s token %d (%s), want %s token %d", r.GetStatus(), r.GetLease().GetToken(), r.GetError(), status,
			token)
	}
}

// hold keeps the next append, and all behind it, waiting until the returned function is called:
// with nil it is stored, with an error it is not.
func (w *world) hold() (letGo func(error)) {
	gate := make(chan error)
	w.journal.Before(func(ctx context.Context, _ *journal.Record) error {
		select {
		case err := <-gate:
			return err
		case <-ctx.Done():
			return fmt.Errorf("%w: %w", journal.ErrUnknown, ctx.Err())
		}
	})
	return func(err error) {
		synctest.Wait() // for the append to arrive
		w.journal.Before(nil)
		gate <- err
	}
}

func acquire(owner string, ttl time.Duration) lease.Acquire {
	return lease.Acquire{Request: &messages.AcquireRequest{Owner: owner, TtlMs: uint32(ttl.Milliseconds())}}
}

// waiting is an acquire by b that queues.
func waiting(ttl, wait time.Duration) lease.Acquire {
	a := acquire("b", ttl)
	a.Request.WaitMs = uint32(wait.Milliseconds())
	return a
}

func release(owner string) lease.Release {
	return lease.Release{Request: &messages.ReleaseRequest{Owner: owner}}
}

func extend(owner string, ttl time.Duration) lease.Extend {
	return lease.Extend{Request: &messages.ExtendRequest{Owner: owner, TtlMs: uint32(ttl.Milliseconds())}}
}

func get() lease.Get { return lease.Get{Request: &messages.GetRequest{}} }

// log keeps what is logged.
type log struct {
	mu sync.Mutex
	b  strings.Builder
}

func (l *log) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *log) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// answers is an outbox that keeps everything.
type answers struct {
	mu      sync.Mutex
	replies map[string][]*messages.Reply
	// together has how many answers came with each call.
	together []int
	// before is called with each answer.
	before func(lease.Answer)
}

func (a *answers) Answer(_ uint32, answers []lease.Answer) {
	a.mu.Lock()
	a.together = append(a.together, len(answers))
	a.mu.Unlock()
	for _, answer := range answers {
		if a.before != nil {
			a.before(answer)
		}
		a.mu.Lock()
		a.replies[answer.To.Subject] = append(a.replies[answer.To.Subject], answer.Reply)
		a.mu.Unlock()
	}
}

// calls returns how many answers came with each call.
func (a *answers) calls() []int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.Clone(a.together)
}

func (a *answers) at(inbox string) []*messages.Reply {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.replies[inbox]
}

// clock is the bubble's clock, with a panic to order, and a wall clock that may be wrong.
type clock struct {
	actors.Clock
	readings atomic.Int64 // until the one that panics; 0: none does
	ahead    atomic.Int64 // in milliseconds
}

func (c *clock) Now() lease.Time {
	if c.readings.Load() > 0 && c.readings.Add(-1) == 0 {
		panic("ordered by the test")
	}
	now := c.Clock.Now()
	now.UnixMillis += c.ahead.Load()
	return now
}

// panicAfter lets the clock panic after this number of readings.
func (c *clock) panicAfter(readings int64) { c.readings.Store(readings + 1) }
