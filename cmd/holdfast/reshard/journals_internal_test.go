package reshard

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/holdfast-io/holdfast/actors/journaltest"
	"github.com/holdfast-io/holdfast/actors/lease"
	"github.com/holdfast-io/holdfast/actors/ledger"
	"github.com/holdfast-io/holdfast/backup"
	"github.com/holdfast-io/holdfast/messages"
	"github.com/holdfast-io/holdfast/messages/journal"
)

// owned is a journal in memory that is read and written, and its owner.
type owned struct {
	*journaltest.Memory
	ledger *ledger.Ledger
	tb     testing.TB
}

func newOwned(tb testing.TB) *owned {
	tb.Helper()
	o := &owned{journaltest.NewMemory(), ledger.New(), tb}
	o.append(o.ledger.TakeOver(&journal.Writer{Node: "n1"}, 1))
	return o
}

// First implements backup.Source.
func (o *owned) First(context.Context) (uint64, error) { return o.ledger.First(), nil }

// End implements backup.Source.
func (o *owned) End(context.Context) (uint64, error) { return o.ledger.Head().Position, nil }

func (o *owned) append(r *journal.Record) {
	o.tb.Helper()
	r.SetFormat()
	at := o.ledger.Head().Position
	err := o.Store(at, r)
	if err == nil {
		err = o.ledger.Read(at+1, r, func(int) lease.Instant { return 0 })
	}
	if err != nil {
		o.tb.Fatal(err)
	}
}

// commit appends changes, all of which are published.
func (o *owned) commit(changes ...*journal.Change) {
	o.tb.Helper()
	r := o.ledger.Next(&journal.Writer{Node: "n1"}, 2)
	r.GetCommit().Changes, r.GetCommit().Published = changes, r.GetCommit().GetNumber()
	o.append(r)
}

// forget appends a page without what is free, up to the token.
func (o *owned) forget(floor messages.Token) {
	o.tb.Helper()
	var page *journal.Page
	for r := range o.ledger.Pages() {
		page = r.GetPage()
	}
	page.Floor = uint64(floor)
	kept := page.GetEntries()[:0]
	for _, e := range page.GetEntries() {
		if e.GetState() == messages.Event_ACQUIRED {
			kept = append(kept, e)
		}
	}
	page.Entries = kept
	o.append(&journal.Record{Body: &journal.Record_Page{Page: page}})
}

// close appends the commit that closes the journal.
func (o *owned) close(next messages.Shards) {
	o.tb.Helper()
	r := o.ledger.Next(&journal.Writer{Node: "n1"}, 3)
	r.GetCommit().Closed = &journal.Closed{Generation: next.Generation, Shards: next.Count}
	o.append(r)
}

func acquired(resource string, token uint64) *journal.Change {
	return &journal.Change{Kind: messages.Event_ACQUIRED, Grant: &journal.Grant{
		Resource: resource, Owner: "a", Token: token, TtlMs: 1000, RequestId: fmt.Sprint(resource, token),
	}}
}

func released(resource string, token uint64) *journal.Change {
	c := acquired(resource, token)
	c.Kind = messages.Event_RELEASED
	return c
}

// filled are the journals of a deployment of two shards, copied into three.
func filled(tb testing.TB) (sources []*owned, targets []*journaltest.Memory, j *journals) {
	tb.Helper()
	j = &journals{next: messages.Shards{Generation: 1, Count: 3}, after: leap}
	for shard := range 2 {
		o := newOwned(tb)
		for i := range 10 {
			o.commit(acquired(fmt.Sprintf("s%d-%d", shard, i), 1))
		}
		sources = append(sources, o)
		j.sources = append(j.sources, &source{o, ledger.New()})
	}
	j.number, j.epoch = leap, leap
	for range j.next.Count {
		m := journaltest.NewMemoryAt(leap)
		targets = append(targets, m)
		j.targets = append(j.targets, &target{m, ledger.New()})
	}
	for _, t := range j.targets {
		first := backup.First(Writer, j.epoch, j.number, time.Now().UnixMilli())
		if err := t.bucket.Append(tb.Context(), j.after, first); err != nil {
			tb.Fatal(err)
		}
		if err := t.ledger.Read(j.after+1, first, nil); err != nil {
			tb.Fatal(err)
		}
	}
	if err := j.catchUp(tb.Context()); err != nil {
		tb.Fatal(err)
	}
	return sources, targets, j
}

// mustRead returns what an owner of a target reads.
func mustRead(tb testing.TB, m *journaltest.Memory) *ledger.Ledger {
	tb.Helper()
	l := ledger.New()
	last, err := m.Replay(tb.Context(), 0, func(position uint64, r *journal.Record) error {
		return l.Read(position, r, func(int) lease.Instant { return 0 })
	})
	if err != nil {
		tb.Fatal(err)
	}
	l.ReadTo(last)
	if err := l.Complete(); err != nil {
		tb.Fatal(err)
	}
	return l
}

// The new journals have each resource as the present ones have it at their ends, whatever changed since it was copied, and
// the low-water mark of all.
func TestTargetsHaveEverything(t *testing.T) {
	sources, targets, j := filled(t)
	sources[0].commit(released("s0-0", 1), acquired("s0-0", 2))
	sources[0].commit(released("s0-1", 1))
	if err := j.catchUp(t.Context()); err != nil {
		t.Fatal(err)
	}
	sources[0].commit(released("s0-2", 1), acquired("s0-2", 700), released("s0-2", 700))
	sources[0].forget(700)
	sources[1].commit(acquired("new", 1))
	for _, s := range sources {
		s.close(j.next)
	}
	if err := j.finish(t.Context()); err != nil {
		t.Fatal(err)
	}
	count := 0
	for shard, m := range targets {
		l := mustRead(t, m)
		if l.Floor() != 700 || l.Head().Number < leap || l.Head().Position <= leap || l.Head().Epoch < epochLeap {
			t.Errorf("shard %d: the low-water mark is %d, at %+v", shard, l.Floor(), l.Head())
		}
		for page := range l.Pages() {
			for _, e := range page.GetPage().GetEntries() {
				count++
				was := sources[0].ledger.Entry(e.Name())
				if strings.HasPrefix(e.Name(), "s1-") || e.Name() == "new" {
					was = sources[1].ledger.Entry(e.Name())
				}
				if e.GetGrant().GetToken() == 1 && e.GetState() == messages.Event_RELEASED && was == nil {
					continue // it was forgotten since
				}
				key, err := messages.KeyOf(e.Name())
				if !proto.Equal(e, was) || err != nil || messages.ShardOf(key, 3) != uint32(shard) {
					t.Errorf("shard %d: %v, want %v", shard, e, was)
				}
			}
		}
	}
	if want := 10 - 1 + 10 + 1; count != want {
		t.Errorf("%d resources, want %d", count, want)
	}
}

// A journal is not copied to its end before it is closed, and not if it is closed for another generation.
func TestOpenJournals(t *testing.T) {
	for name, closed := range map[string]uint32{"open": 0, "closed for another one": 2} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				sources, _, j := filled(t)
				sources[0].close(j.next)
				if closed > 0 {
					sources[1].close(messages.Shards{Generation: closed, Count: 3})
				}
				ctx, cancel := context.WithTimeout(t.Context(), time.Second)
				defer cancel()
				if err := j.finish(ctx); err == nil || ctx.Err() == nil {
					t.Errorf("it was copied: %v", err)
				}
			})
		})
	}
}

// The new journals begin above the present ones, whose events are all published; or they are not used.
func TestJournalsThatCannotFollow(t *testing.T) {
	for says, change := range map[string]func(*owned, *journals){
		"beyond the beginning": func(_ *owned, j *journals) { j.after = 5 },
		"not all of its events": func(o *owned, _ *journals) {
			r := o.ledger.Next(&journal.Writer{Node: "n1"}, 2)
			r.GetCommit().Changes = []*journal.Change{acquired("late", 1)}
			o.append(r)
		},
	} {
		sources, _, j := filled(t)
		change(sources[0], j)
		for _, s := range sources {
			s.close(j.next)
		}
		if err := j.finish(t.Context()); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%v, want %s", err, says)
		}
	}
}
