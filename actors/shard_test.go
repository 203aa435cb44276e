package actors_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/holdfast-io/holdfast/actors"
	"github.com/holdfast-io/holdfast/actors/journaltest"
	"github.com/holdfast-io/holdfast/actors/lease"
	"github.com/holdfast-io/holdfast/messages"
	"github.com/holdfast-io/holdfast/messages/journal"
)

func TestLeaseEndsAtItsTimeAndNotBefore(t *testing.T) {
	inWorld(t, actors.Tuning{}, func(w *world) {
		w.want(messages.Status_GRANTED, 1, "r", acquire("a", time.Second))
		next := w.send("r", waiting(time.Second, time.Minute))
		w.pass(time.Second - 1)
		w.wantNone("while the lease runs", next)
		w.pass(1)
		w.check(w.answer(next), messages.Status_GRANTED, 2)
		w.want(messages.Status_NOT_OWNER, 2, "r", extend("a", time.Second))
		w.pass(time.Second)
		w.want(messages.Status_EXPIRED, 0, "r", extend("b", time.Second))
	})
}

func TestEverythingOutlivesTheProcess(t *testing.T) {
	inWorld(t, actors.Tuning{}, func(w *world) {
		w.want(messages.Status_GRANTED, 1, "held", acquire("a", time.Second))
		w.want(messages.Status_GRANTED, 1, "released", acquire("a", time.Second))
		w.want(messages.Status_RELEASED, 0, "released", release("a"))
		w.pass(time.Second / 2)
		w.reopen()
		w.want(messages.Status_HELD, 1, "held", get())
		w.want(messages.Status_RELEASED, 0, "released", release("a"))
		w.want(messages.Status_GRANTED, 2, "released", acquire("b", time.Second))

		w.pass(time.Second - 1) // the lease runs its whole time again: how much has passed is not known
		w.want(messages.Status_HELD, 1, "held", get())
		w.pass(1)
		w.want(messages.Status_EXPIRED, 0, "held", release("a"))
	})
}

func TestNoAnswerBeforeItsConfirmation(t *testing.T) {
	inWorld(t, actors.Tuning{}, func(w *world) {
		w.want(messages.Status_GRANTED, 1, "r", acquire("a", time.Minute))
		letGo := w.hold()
		inboxes := map[string]messages.Status{
			w.send("r", acquire("b", time.Second)): messages.Status_HELD,
			w.send("r", get()):                     messages.Status_HELD,
			w.send("r", release("b")):              messages.Status_NOT_OWNER,
			w.send("r", extend("a", time.Second)):  messages.Status_EXTENDED,
			w.send("r", release("a")):              messages.Status_RELEASED,
			w.send("r", get()):                     messages.Status_FREE,
			w.send("s", acquire("b", time.Minute)): messages.Status_GRANTED,
		}
		w.pass(time.Second)
		w.wantNone("before it was confirmed", slices.Collect(maps.Keys(inboxes))...)
		letGo(nil)
		for inbox, status := range inboxes {
			w.check(w.answer(inbox), status, 0)
		}
	})
}

// A grant whose lease has run out before the journal has confirmed it is answered as over.
func TestGrantThatIsOverBeforeItsConfirmation(t *testing.T) {
	inWorld(t, actors.Tuning{StallAfter: time.Hour}, func(w *world) {
		w.want(messages.Status_GRANTED, 1, "r", acquire("a", time.Second))
		wait := waiting(time.Second, time.Hour)
		wait.Request.RequestId = "x"
		waited := w.send("r", wait)
		letGo := w.hold()
		w.send("other", acquire("a", time.Second)) // what follows is one commit
		w.pass(time.Second)
		w.pass(time.Second)
		released := w.send("r", acquire("c", time.Second))
		w.send("r", release("c"))
		prolonged := w.send("s", acquire("c", time.Second))
		w.send("s", extend("c", time.Hour))
		w.pass(time.Second)
		held := w.send("r", acquire("d", time.Hour))
		w.wantNone("before its confirmation", waited, released, prolonged, held)
		letGo(nil)
		r := w.answer(waited)
		w.check(r, messages.Status_EXPIRED, 2)
		if l := r.GetLease(); l.GetRemainingMs() != 0 || l.GetOwner() != "b" || l.GetResource() != "r" ||
			l.GetFence() == "" {
			t.Errorf("the answer shows %v", l)
		}
		w.want(messages.Status_EXPIRED, 2, "r", wait) // as a repetition of the request is answered
		w.check(w.answer(released), messages.Status_RELEASED, 3)
		w.check(w.answer(prolonged), messages.Status_GRANTED, 1)
		w.check(w.answer(held), messages.Status_GRANTED, 4)
	})
}

func TestStaleGetDoesNotWait(t *testing.T) {
	inWorld(t, actors.Tuning{}, func(w *world) {
		letGo := w.hold()
		defer func() { letGo(nil) }()
		w.send("r", acquire("a", time.Minute))
		appends := w.journal.Appends()
		r := w.ask("r", lease.Get{Request: &messages.GetRequest{Stale: true}})
		w.check(r, messages.Status_HELD, 1)
		if w.journal.Appends() > appends+1 {
			w.Error("a stale get was appended")
		}
	})
}

func TestAppendsAreBounded(t *testing.T) {
	inWorld(t, actors.Tuning{CommitDecisions: 10}, func(w *world) {
		letGo := w.hold()
		for i := range 95 {
			w.send(fmt.Sprint("r", i), acquire("a", time.Second))
		}
		synctest.Wait()
		letGo(nil)
		synctest.Wait()
		for _, r := range w.journal.Records() {
			if n := len(r.GetCommit().GetChanges()); n > 10 {
				w.Errorf("a commit carries %d changes", n)
			}
		}
	})
}

// NATS takes messages of 1 MB at most.
func TestAppendsAreBoundedInBytes(t *testing.T) {
	inWorld(t, actors.Tuning{}, func(w *world) {
		letGo := w.hold()
		for i := range 1000 {
			big := acquire(strings.Repeat("o", 256), time.Second)
			big.Request.Metadata = map[string]string{"m": strings.Repeat("x", 1000)}
			w.send(fmt.Sprintf("%0500d", i), big)
		}
		letGo(nil)
		synctest.Wait()
		for _, r := range w.journal.Records() {
			if size := proto.Size(r); size > 900_000 {
				w.Errorf("%s has %d bytes", r.Describe(), size)
			}
		}
		w.want(messages.Status_HELD, 1, fmt.Sprintf("%0500d", 999), get())
	})
}

// From a threshold on, every grant is logged, of a block by its last token: there is time to move to another name.
func TestTokensRunningOutAreLogged(t *testing.T) {
	for token, logged := range map[messages.Token]bool{messages.WarnToken - 1: false, messages.WarnToken: true,
		messages.MaxToken: true} {
		inClosedWorld(t, actors.Tuning{}, func(w *world) {
			r := journaltest.Commit(1, 1)
			r.GetCommit().Opened = true
			grant := &journal.Grant{Resource: "r", Owner: "a", Token: uint64(token) - 1, TtlMs: 1000}
			r.GetCommit().Changes = []*journal.Change{
				{Kind: messages.Event_ACQUIRED, Grant: grant}, {Kind: messages.Event_RELEASED, Grant: grant},
			}
			must(w.T, w.journal.Store(0, r))
			w.open()
			w.want(messages.Status_GRANTED, uint64(token), "r", acquire("a", time.Minute))
			if got := strings.Contains(w.log.String(), "running out"); got != logged {
				w.Errorf("token %d: logged %v, want %v", token, got, logged)
			}
			block := acquire("a", time.Minute)
			block.Request.Tokens = 3
			w.want(messages.Status_RELEASED, 0, "r", release("a"))
			if token < messages.WarnToken {
				w.want(messages.Status_GRANTED, uint64(token)+1, "r", block)
				w.wantLine(`token=90000000000002 last=900000000000000`)
				w.want(messages.Status_RELEASED, 0, "r", release("a"))
			}
			if token == messages.MaxToken {
				before := w.journal.Last()
				w.want(messages.Status_EXHAUSTED, 0, "r", acquire("a", time.Minute))
				for _, r := range w.journal.Records()[before:] {
					if len(r.GetCommit().GetChanges()) > 0 {
						w.Error("the refusal was recorded")
					}
				}
			}
		})
	}
}

func TestBreakIsLoggedWithItsReason(t *testing.T) {
	inWorld(t, actors.Tuning{}, func(w *world) {
		w.want(messages.Status_GRANTED, 1, "r", acquire("a", time.Minute))
		w.want(messages.Status_RELEASED, 0, "r", lease.Break{
			Request: &messages.BreakRequest{Token: 1, Reason: "stuck since noon"}})
		if log := w.log.String(); !strings.Contains(log, "stuck since noon") {
			w.Errorf("the log has no reason:\n%s", log)
		}
		records := w.journal.Records()
		if got := records[len(records)-1].GetCommit().GetChanges()[0].GetReason(); got != "stuck since noon" {
			w.Errorf("the journal has reason %q", got)
		}
	})
}

// A refused append means that another node has taken over: what was decided since is void, all of
// it certainly, and the shard is opened again from what the other one wrote.
func TestDeposedOwnerAnswersNothingButUnavailable(t *testing.T) {
	inWorld(t, actors.Tuning{}, func(w *world) {
		w.want(messages.Status_GRANTED, 1, "r", acquire("a", time.Minute))
		w.want(messages.Status_GRANTED, 1, "s", acquire("a", time.Minute))
		waiting := w.send("s", waiting(time.Minute, time.Minute))
		letGo := w.hold()
		inflight := w.send("r", release("a"))
		synctest.Wait()
		pending := w.send("r", acquire("b", time.Minute))
		synctest.Wait()
		other := &journal.Record{Format: journal.Format, Body: &journal.Record_Commit{Commit: &journal.Commit{
			Epoch: 2, Opened: true, Number: uint64(len(w.journal.Records())) + 1, Writer: &journal.Writer{Node: "n2"},
		}}}
		if err := w.journal.Store(w.journal.Last(), other); err != nil {
			w.Fatal(err)
		}
		letGo(nil)
		for _, inbox := range []string{inflight, pending, waiting} {
			w.check(w.answer(inbox), messages.Status_UNAVAILABLE, 0)
		}
		w.want(messages.Status_UNAVAILABLE, 0, "r", get())
		w.pass(2 * time.Second)
		w.want(messages.Status_HELD, 1, "r", get())
		w.want(messages.Status_RELEASED, 0, "r", release("a"))
		w.want(messages.Status_GRANTED, 2, "r", acquire("b", time.Minute))
	})
}

// If it is not known whether the append was stored, the requests in it get no answer.
func TestUnknownOutcomeIsNotAnswered(t *testing.T) {
	for name, stored := range map[string]bool{"it was stored": true, "it was not": false} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, actors.Tuning{}, func(w *world) {
				letGo := w.hold()
				unknown := w.send("r", acquire("a", time.Minute))
				synctest.Wait()
				pending := w.send("r", acquire("b", time.Minute))
				synctest.Wait()
				if stored {
					w.journal.After(func(context.Context, *journal.Record) error {
						w.journal.After(nil)
						return journal.ErrUnknown
					})
					letGo(nil)
				} else {
					letGo(journal.ErrUnknown)
				}
				w.wantNone("where the outcome is unknown", unknown)
				w.check(w.answer(pending), messages.Status_UNAVAILABLE, 0)
				w.pass(2 * time.Second)
				if stored {
					w.want(messages.Status_HELD, 1, "r", acquire("b", time.Minute))
				} else {
					w.want(messages.Status_GRANTED, 1, "r", acquire("b", time.Minute))
				}
			})
		})
	}
}

func TestStalledJournalTurnsNewRequestsAway(t *testing.T) {
	inWorld(t, actors.Tuning{}, func(w *world) {
		letGo := w.hold()
		first := w.send("r", acquire("a", time.Minute))
		w.pass(actors.DefaultTuning().StallAfter + 1)
		w.want(messages.Status_UNAVAILABLE, 0, "r", get())
		letGo(nil)
		w.check(w.answer(first), messages.Status_GRANTED, 1)
		w.want(messages.Status_HELD, 1, "r", get())
	})
}

func TestTooManyOnTheirWay(t *testing.T) {
	inWorld(t, actors.Tuning{MaxPending: 10}, func(w *world) {
		letGo := w.hold()
		var inboxes []string
		for range 10 {
			inboxes = append(inboxes, w.send("r", get()))
		}
		_, err := w.shard.SendAll([]actors.Request{{Resource: "r", Event: get()}})
		if !errors.Is(err, actors.ErrOverloaded) {
			w.Fatalf("the eleventh: %v", err)
		}
		letGo(nil)
		for _, inbox := range inboxes {
			w.check(w.answer(inbox), messages.Status_FREE, 0)
		}
		w.want(messages.Status_FREE, 0, "r", get()) // those that were answered have made room

		w.want(messages.Status_GRANTED, 1, "r", acquire("a", time.Minute))
		for range 20 { // those that queue are not on their way
			w.send("r", waiting(time.Second, time.Minute))
			synctest.Wait()
		}
		w.want(messages.Status_HELD, 1, "r", get())
	})
}

func TestPanicLosesOneRequestAndNothingElse(t *testing.T) {
	inWorld(t, actors.Tuning{MaxPending: 10}, func(w *world) {
		for range 20 { // none may stay counted as on its way, or the last would be refused
			w.want(messages.Status_GRANTED, 0, "r", acquire("a", time.Minute))
			w.clock.panicAfter(0)
			if r := w.ask("r", get()); r != nil {
				w.Fatalf("got %v of a panic", r)
			}
			w.want(messages.Status_HELD, 0, "r", get())
			w.want(messages.Status_RELEASED, 0, "r", release("a"))
		}
		w.want(messages.Status_GRANTED, 21, "r", acquire("a", time.Minute))
	})
}

// A resource that panics while its decisions are on their way must not fall behind them.
func TestPanicAmidUnconfirmedDecisions(t *testing.T) {
	inWorld(t, actors.Tuning{}, func(w *world) {
		letGo := w.hold()
		first := w.send("r", acquire("a", time.Minute))
		synctest.Wait()
		w.clock.panicAfter(1) // with an append on its way, the shard reads the clock first
		w.send("r", extend("a", time.Minute))
		synctest.Wait()
		letGo(nil)
		w.check(w.answer(first), messages.Status_GRANTED, 1)
		w.pass(3 * time.Second)
		w.want(messages.Status_HELD, 1, "r", acquire("b", time.Minute))
	})
}

// A lease ends also if the tick that was to end it panicked.
func TestPanicOfATick(t *testing.T) {
	inWorld(t, actors.Tuning{}, func(w *world) {
		w.want(messages.Status_GRANTED, 1, "r", acquire("a", time.Minute))
		w.pass(time.Minute - 1)
		w.clock.panicAfter(1) // waking reads the clock first
		w.pass(1)
		w.pass(3 * time.Second)
		records := w.journal.Records()
		last := records[len(records)-1].GetCommit().GetChanges()
		if len(last) != 1 || last[0].GetKind() != messages.Event_EXPIRED {
			w.Errorf("the last commit has %v, want EXPIRED", last)
		}
		if !strings.Contains(w.log.String(), "panic in a resource") {
			w.Error("nothing panicked: the test is vacuous")
		}
	})
}

// A panic while a term begins leaves nothing behind: the shard is opened again after a while, and it can be closed.
func TestPanicWhileATermBegins(t *testing.T) {
	// of the clock: by the shard, by the attempt, for its commit, and twice by the term
	for readings := range int64(5) {
		inClosedWorld(t, actors.Tuning{Remember: time.Hour}, func(w *world) {
			w.open()
			w.want(messages.Status_GRANTED, 1, "r", acquire("a", time.Minute))
			w.close()
			w.clock.panicAfter(readings)
			w.start()
			w.pass(actors.DefaultTuning().ReopenAfter - 1)
			if !strings.Contains(w.log.String(), "ordered by the test") {
				t.Errorf("the reading %d did not panic: the test is vacuous", readings)
			}
			w.want(messages.Status_UNAVAILABLE, 0, "r", get())
			w.pass(1)
			w.want(messages.Status_HELD, 1, "r", get())
		})
	}
}

// A journal that makes its reader panic closes its own shard and no other, and says where.
func TestPanicOfAReplay(t *testing.T) {
	inClosedWorld(t, actors.Tuning{}, func(w *world) {
		w.open()
		w.want(messages.Status_GRANTED, 1, "r", acquire("a", time.Minute))
		w.close()
		poisoned := &poisoned{Memory: w.journal}
		poisoned.position.Store(2)
		w.over = poisoned
		w.start()
		other := w.system.StartShard(actors.ShardConfig{
			Shard: 4, Node: "n1", Journal: journaltest.NewMemory(), Clock: w.clock, Outbox: w.answers,
			Log: testLog(w.T),
		})
		defer func() { must(t, other.Close(w.Context())) }()
		const want = "cannot be opened: shard 3: position 2: panic: ordered by the test"
		w.pass(10 * time.Second)
		if why := w.shard.Reason(); why != want || !strings.Contains(w.log.String(), "poisoned).Replay") {
			t.Errorf("%q, want %q, and the stack in the log", why, want)
		}
		if n := poisoned.replays.Load(); n != 11 {
			t.Errorf("the journal was read %d times in ten seconds, want once a second", n)
		}
		this := w.shard
		w.shard = other
		w.want(messages.Status_GRANTED, 1, "r", acquire("a", time.Minute))
		w.shard = this
		poisoned.position.Store(0)
		w.pass(time.Second)
		w.want(messages.Status_HELD, 1, "r", get())
	})
}

// poisoned is a journal whose record at a position makes its reader panic.
type poisoned struct {
	*journaltest.Memory
	position atomic.Uint64
	replays  atomic.Int64
}

func (p *poisoned) Replay(ctx context.Context, after uint64, apply func(uint64, *journal.Record) error) (uint64,
	error) {
	p.replays.Add(1)
	return p.Memory.Replay(ctx, after, func(position uint64, r *journal.Record) error {
		err := apply(position, r)
		if position == p.position.Load() {
			panic("ordered by the test")
		}
		return err
	})
}

// A panic of an append leaves its outcome open, like any error of which nothing is known.
func TestPanicOfAnAppend(t *testing.T) {
	inWorld(t, actors.Tuning{}, func(w *world) {
		w.journal.Before(func(context.Context, *journal.Record) error {
			w.journal.Before(nil)
			panic("ordered by the test")
		})
		if r := w.ask("r", acquire("a", time.Minute)); r != nil {
			t.Errorf("got %v, want no answer", r)
		}
		w.pass(time.Second)
		w.want(messages.Status_GRANTED, 1, "r", acquire("a", time.Minute))
	})
}

func TestPanicOfTheShardItself(t *testing.T) {
	inWorld(t, actors.Tuning{MaxPending: 5}, func(w *world) {
		for i := range 10 {
			w.want(messages.Status_GRANTED, 0, fmt.Sprint("r", i), acquire("a", time.Minute))
			w.answers.before = func(lease.Answer) {
				w.answers.before = nil
				panic("ordered by the test")
			}
			w.ask(fmt.Sprint("r", i), get())
			w.pass(2 * time.Second)
			w.want(messages.Status_HELD, 1, fmt.Sprint("r", i), get())
		}
	})
}

func TestIdleResourceLosesItsActorAndNothingElse(t *testing.T) {
	inWorld(t, actors.Tuning{IdleAfter: time.Second}, func(w *world) {
		w.want(messages.Status_GRANTED, 1, "held", acquire("a", time.Minute))
		w.want(messages.Status_GRANTED, 1, "free", acquire("a", time.Minute))
		w.want(messages.Status_RELEASED, 0, "free", release("a"))
		w.pass(3 * time.Second)
		w.want(messages.Status_HELD, 1, "held", acquire("b", time.Minute))
		w.want(messages.Status_GRANTED, 2, "free", acquire("b", time.Minute))
		w.pass(time.Minute - 3*time.Second - 1)
		w.want(messages.Status_HELD, 1, "held", get())
		w.pass(1)
		w.want(messages.Status_EXPIRED, 0, "held", release("a"))
		w.pass(time.Hour)
		w.want(messages.Status_EXPIRED, 0, "free", release("b"))
	})
}

func TestResourceInUseKeepsItsActor(t *testing.T) {
	inWorld(t, actors.Tuning{IdleAfter: time.Second}, func(w *world) {
		w.want(messages.Status_FREE, 0, "other", get())
		w.pass(10 * time.Millisecond)
		for range 100 {
			w.want(messages.Status_FREE, 0, "used", get())
			w.pass(100 * time.Millisecond)
			if w.actors() == 0 {
				w.Fatal("the resource has lost its actor")
			}
		}
		if n := w.actors(); n != 1 {
			w.Errorf("%d actors, want that of the resource in use", n)
		}
		w.pass(1500 * time.Millisecond)
		if n := w.actors(); n != 0 {
			w.Errorf("%d actors, though none is in use", n)
		}
	})
}

func TestWaitingKeepsTheActor(t *testing.T) {
	inWorld(t, actors.Tuning{IdleAfter: time.Second}, func(w *world) {
		w.want(messages.Status_GRANTED, 1, "r", acquire("a", time.Minute))
		next := w.send("r", waiting(time.Minute, 10*time.Minute))
		w.pass(time.Minute)
		w.check(w.answer(next), messages.Status_GRANTED, 2)
	})
}

func TestCloseAnswersEverybody(t *testing.T) {
	inWorld(t, actors.Tuning{}, func(w *world) {
		w.want(messages.Status_GRANTED, 1, "r", acquire("a", time.Minute))
		waiting := w.send("r", waiting(time.Minute, time.Minute))
		synctest.Wait()
		letGo := w.hold()
		inflight := w.send("s", acquire("a", time.Minute))
		synctest.Wait()
		go letGo(nil)
		w.close()
		w.check(w.answer(inflight), messages.Status_GRANTED, 1)
		w.check(w.answer(waiting), messages.Status_UNAVAILABLE, 0)
	})
}

func TestCloseDoesNotWaitForeverForTheJournal(t *testing.T) {
	inWorld(t, actors.Tuning{}, func(w *world) {
		w.hold()
		inbox := w.send("r", acquire("a", time.Minute))
		synctest.Wait()
		ctx, cancel := context.WithTimeout(w.Context(), time.Second)
		defer cancel()
		if err := w.shard.Close(ctx); !errors.Is(err, context.DeadlineExceeded) {
			w.Errorf("close: %v", err)
		}
		w.wantNone("where the outcome is unknown", inbox)
		w.shard = nil
	})
}

func TestShardThatCannotBeOpened(t *testing.T) {
	inClosedWorld(t, actors.Tuning{}, func(w *world) {
		first, broken := journaltest.Commit(1, 1), journaltest.Commit(2, 1)
		first.GetCommit().Opened = true
		broken.GetCommit().Changes = []*journal.Change{
			{Kind: messages.Event_ACQUIRED, Grant: &journal.Grant{Resource: "r"}}}
		if err := errors.Join(w.journal.Store(0, first), w.journal.Store(1, broken)); err != nil {
			w.Fatal(err)
		}
		w.system = actors.NewSystem(testLog(w.T))
		w.shard = w.system.StartShard(actors.ShardConfig{
			Shard: 3, Node: "n1", Journal: w.journal, Clock: w.clock, Outbox: w.answers, Log: testLog(w.T),
		})
		err := w.shard.Opened(w.Context())
		const want = "shard 3: replay: position 2, commit 2 of epoch 1: change 0: stored record cannot be read: it names no resource or no token"
		if !errors.Is(err, journal.ErrCorrupt) || err.Error() != want {
			w.Errorf("got  %v\nwant %v", err, want)
		}
		w.want(messages.Status_UNAVAILABLE, 0, "r", get())
		w.journal.Delete(2) // the operator mends it
		w.pass(2 * time.Second)
		w.want(messages.Status_FREE, 0, "r", get())
	})
}

// Two nodes that open the same journal, ever again: one of them is always deposed, and nothing is
// ever written by a deposed one.
func TestTwoOwnersOfOneJournal(t *testing.T) {
	inWorld(t, actors.Tuning{ReopenAfter: 10 * time.Millisecond}, func(w *world) {
		rival := w.system.StartShard(actors.ShardConfig{
			Shard: 3, Node: "n2", Journal: w.journal.Rival(), Clock: w.clock, Outbox: w.answers, Log: testLog(w.T),
			Tuning: w.tuning,
		})
		shards := []*actors.Shard{w.shard, rival}
		random := rand.New(rand.NewPCG(1, 2))
		last, grants := uint64(0), 0
		for range 2000 {
			w.pass(time.Duration(random.IntN(4)) * time.Millisecond)
			w.shard = shards[random.IntN(2)]
			if random.IntN(2) == 0 {
				w.ask("r", release("a"))
				continue
			}
			again := acquire("a", time.Hour)
			again.Request.Reentrant = true
			r := w.ask("r", again)
			if r.GetStatus() != messages.Status_GRANTED {
				continue
			}
			grants++
			if token := r.GetLease().GetToken(); token != last && token != last+1 {
				w.Fatalf("token %d follows %d", token, last)
			}
			last = r.GetLease().GetToken()
		}
		w.shard = shards[0]
		if epochs := w.journal.Records()[w.journal.Last()-1].GetCommit().GetEpoch(); grants < 100 || epochs < 100 {
			w.Errorf("only %d grants in %d epochs: the test is vacuous", grants, epochs)
		}
		must(w.T, rival.Close(w.Context()))
		checkJournal(w.T, w.journal.Records())
	})
}

// Compaction goes on beside everything else, and what it leaves is all that there was.
func TestCompactionWhileServing(t *testing.T) {
	inWorld(t, actors.Tuning{CompactCommits: 20, History: 5}, func(w *world) {
		tokens := map[string]uint64{}
		for i := range 2000 {
			resource := fmt.Sprint("r", i%50)
			tokens[resource]++
			w.want(messages.Status_GRANTED, tokens[resource], resource, acquire("a", time.Hour))
			w.want(messages.Status_RELEASED, 0, resource, release("a"))
			if i%500 == 499 {
				w.reopen()
			}
		}
		if n := len(w.journal.Records()); n > 200 {
			w.Errorf("%d records are left of 4000 commits: nothing was compacted", n)
		}
		for resource, token := range tokens {
			w.want(messages.Status_FREE, token, resource, get())
		}
	})
}

// No request waits for a whole compaction: between two pages there is room for a commit.
func TestCompactionYields(t *testing.T) {
	inWorld(t, actors.Tuning{CompactBytes: 2 << 20}, func(w *world) {
		for i := range 7000 { // not yet enough to compact
			w.send(fmt.Sprint("r", i), acquire(strings.Repeat("o", 200), time.Hour))
			if i%1000 == 0 {
				synctest.Wait()
			}
		}
		synctest.Wait()
		before := len(w.journal.Records())
		w.journal.Before(func(context.Context, *journal.Record) error {
			<-time.After(time.Millisecond) // as a disk would
			return nil
		})
		for i := range 2000 {
			w.send(fmt.Sprint("s", i), acquire(strings.Repeat("o", 200), time.Hour))
			<-time.After(time.Millisecond / 2)
		}
		synctest.Wait()
		pages, inARow := 0, 0
		for _, r := range w.journal.Records()[before:] {
			if r.GetPage() == nil {
				inARow = 0
				continue
			}
			pages++
			if inARow++; inARow > 1 {
				w.Fatal("two pages in a row, while requests waited")
			}
		}
		if pages < 5 {
			w.Errorf("only %d pages: the test is vacuous", pages)
		}
	})
}

// A shard with many resources is compacted less often: its pages take no more than three times what its commits take.
func TestCompactionOfManyResources(t *testing.T) {
	inWorld(t, actors.Tuning{CompactBytes: 1000, CompactCommits: 10, History: 1}, func(w *world) {
		commits, pages := 0, 0
		w.journal.Before(func(_ context.Context, r *journal.Record) error {
			if size := proto.Size(r); r.GetPage() != nil {
				pages += size
			} else {
				commits += size
			}
			return nil
		})
		for i := range 3000 {
			resource := fmt.Sprint("r", i%300)
			w.want(messages.Status_GRANTED, uint64(i/300)+1, resource, acquire("a", time.Hour))
			w.want(messages.Status_RELEASED, 0, resource, release("a"))
		}
		if pages == 0 || pages > 3*commits {
			w.Errorf("%d bytes of pages for %d bytes of commits", pages, commits)
		}
	})
}

// A compaction leaves the history that readers of the journal were promised.
func TestCompactionKeepsHistory(t *testing.T) {
	inWorld(t, actors.Tuning{CompactCommits: 20, History: 200}, func(w *world) {
		for token := range uint64(500) {
			w.want(messages.Status_GRANTED, token+1, "r", acquire("a", time.Hour))
			w.want(messages.Status_RELEASED, 0, "r", release("a"))
		}
		commits := 0
		for _, r := range w.journal.Records() {
			if r.GetCommit() != nil {
				commits++
			}
		}
		if commits < 200 || commits > 400 {
			w.Errorf("%d commits are left, want 200 and a little more", commits)
		}
	})
}
