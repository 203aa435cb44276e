package actors

import (
	"context"
	"log/slog"
	"strings"
	"testing"

	"github.com/asynkron/protoactor-go/actor"

	"github.com/holdfast-io/holdfast/actors/lease"
	"github.com/holdfast-io/holdfast/actors/ledger"
	"github.com/holdfast-io/holdfast/messages"
	"github.com/holdfast-io/holdfast/messages/journal"
)

// noJournal fails the test when something is appended to it.
type noJournal struct {
	Journal
	t *testing.T
}

func (j noJournal) Append(_ context.Context, _ uint64, r *journal.Record) error {
	j.t.Errorf("%s is appended", r.Describe())
	return journal.ErrNotStored
}

// What no owner could read is not stored, even if a resource decides it: once it was, none could open the shard.
func TestBugIsNotStored(t *testing.T) {
	t.Parallel()
	system := actor.NewActorSystem(actor.WithLoggerFactory(
		func(*actor.ActorSystem) *slog.Logger { return slog.New(slog.DiscardHandler) }))
	defer system.Shutdown()
	s := newShard(ShardConfig{Clock: SystemClock(), Journal: noJournal{t: t}, Log: slog.New(slog.DiscardHandler),
		Tuning: DefaultTuning()}, system)
	l, writer := ledger.New(), &journal.Writer{Node: "n"}
	if err := l.Read(1, l.TakeOver(writer, 0), func(int) lease.Instant { return 0 }); err != nil {
		t.Fatal(err)
	}
	term := newTerm(actor.NewPID("nonhost", "nobody"), s, l, writer, nil)
	grant := &journal.Grant{Resource: "r", Owner: "a", Token: 1, TtlMs: 1000}
	for _, kind := range []messages.Event_Kind{messages.Event_ACQUIRED, messages.Event_RELEASED,
		messages.Event_RELEASED} {
		term.batcher.add(&decision{
			activation: term.activations.add("r"),
			outcome:    lease.Outcome{Changes: []*journal.Change{{Kind: kind, Grant: grant}}},
		})
	}
	var reason any
	func() {
		defer func() { reason = recover() }()
		term.appendNext()
	}()
	const want = `commit 2 of epoch 1 is not stored: change 2: stored record cannot be read: RELEASED of "r" token 1`
	if err, ok := reason.(error); !ok || !strings.Contains(err.Error(), want) {
		t.Errorf("it panics with %v, want %q", reason, want)
	}
	term.end()
	s.work.Wait()
	if image := l.Image("r"); image.Token() != 0 || l.Head().Number != 1 {
		t.Errorf("the ledger is at commit %d, with token %d", l.Head().Number, image.Token())
	}
}
