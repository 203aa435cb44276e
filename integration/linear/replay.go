package linear

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/holdfast-io/holdfast/actors"
	"github.com/holdfast-io/holdfast/actors/lease"
	"github.com/holdfast-io/holdfast/messages"
	"github.com/holdfast-io/holdfast/messages/journal"
)

// checkReplay lets the service itself replay each journal, and returns where it comes to other leases than these, or to
// others that hold their resources back.
func checkReplay(ctx context.Context, j *Journal, held, lost map[string][]*journal.Grant) (wrong []string) {
	system := actors.NewSystem(slog.New(slog.DiscardHandler))
	defer system.Close()
	replayed := map[bool]leases{false: {}, true: {}}
	all := j.generations()
	if len(all) == 0 {
		return nil
	}
	for _, l := range all[len(all)-1] {
		if err := replay(ctx, system, l, replayed); err != nil {
			return append(wrong, err.Error())
		}
	}
	return append(replayed[false].compare("held", held), replayed[true].compare("held back", lost)...)
}

// leases are those that a replay has come to.
type leases map[name]*messages.Lease

// compare returns where the leases are others than these.
func (l leases) compare(how string, want map[string][]*journal.Grant) (wrong []string) {
	for _, held := range want {
		for _, g := range held {
			key := name{g.GetResource(), g.GetToken()}
			got := l[key]
			if got.GetOwner() != g.GetOwner() || got.GetTtlMs() != g.GetTtlMs() || ShownOf(got) != shownAs(g) {
				wrong = append(wrong, fmt.Sprintf("%s: it is %s in the journal under %v, and a replay has %v",
					messages.QuoteResource(g.GetResource()), how, g, got))
			}
			delete(l, key)
		}
	}
	for of, got := range l {
		wrong = append(wrong, fmt.Sprintf("%s: a replay has %v, and in the journal it is not %s",
			messages.QuoteResource(of.resource), got, how))
	}
	return wrong
}

// name is what a lease is known by.
type name struct {
	resource string
	token    uint64
}

// replay opens a shard from a copy of its journal, and adds who holds what, and what is held back.
func replay(ctx context.Context, system *actors.System, l *log, found map[bool]leases) error {
	s := system.StartShard(actors.ShardConfig{
		Shard: l.shard.Number, Node: "replay", Journal: &copied{log: l.records}, Clock: stopped{},
		Outbox: nowhere{}, Log: slog.New(slog.DiscardHandler),
	})
	if err := s.Opened(ctx); err != nil {
		return errors.Join(fmt.Errorf("shard %v: %w", l.shard, err), s.Close(ctx))
	}
	every, err := messages.ParsePattern(">")
	if err != nil {
		return err
	}
	for heldBack, into := range found {
		all, failed := s.List(ctx, actors.Listing{Tenant: messages.AllTenants, Pattern: every, Limit: math.MaxInt,
			Bytes: math.MaxInt, HeldBack: heldBack})
		err = errors.Join(err, failed)
		for _, l := range all.Leases {
			into[name{messages.Qualify(l.GetTenant(), l.GetResource()), l.GetToken()}] = l
		}
	}
	return errors.Join(err, s.Close(ctx))
}

// copied is a copy of a shard's journal. What is appended to it goes nowhere else.
type copied struct{ log []placed }

// Replay implements actors.Journal.
func (c *copied) Replay(_ context.Context, after uint64, apply func(uint64, *journal.Record) error) (last uint64,
	err error) {
	for _, r := range c.log {
		last = r.position
		if r.position <= after {
			continue
		}
		if err := apply(r.position, r.Record); err != nil {
			return last, err
		}
	}
	return last, nil
}

// Append implements actors.Journal.
func (c *copied) Append(_ context.Context, after uint64, r *journal.Record) error {
	c.log = append(c.log[:len(c.log):len(c.log)], placed{after + 1, proto.CloneOf(r)})
	return nil
}

// Purge implements actors.Journal.
func (*copied) Purge(context.Context, uint64, []string) error { return nil }

// stopped is a clock that stands still, so that no lease runs out meanwhile.
type stopped struct{}

// Now implements actors.Clock.
func (stopped) Now() lease.Time { return lease.Time{} }

// AfterFunc implements actors.Clock.
func (stopped) AfterFunc(time.Duration, func()) func() bool { return func() bool { return true } }

// nowhere drops answers: there are no requests.
type nowhere struct{}

// Answer implements actors.Outbox.
func (nowhere) Answer(uint32, []lease.Answer) {}
