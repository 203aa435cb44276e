package soak

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/holdfast-io/holdfast/integration/audit"
	"github.com/holdfast-io/holdfast/jetstream"
	"github.com/holdfast-io/holdfast/messages"
	"github.com/holdfast-io/holdfast/messages/journal"
)

// auditor reads the journals all the while, and checks them by package audit and against what clients received.
type auditor struct {
	*run
	shards []*books
	index  map[string]*resource

	mu         sync.Mutex
	deployment *jetstream.Deployment // nil while the node is restarted
}

// books are those of one shard.
type books struct {
	*run
	*audit.Shard
	shard uint32
	index map[string]*resource
}

func newAuditor(r *run) *auditor {
	a := &auditor{run: r, index: r.index()}
	for shard := range r.cfg.shards {
		a.shards = append(a.shards, a.books(shard))
	}
	return a
}

func (a *auditor) books(shard uint32) *books {
	return &books{run: a.run, Shard: audit.NewPartial(shard), shard: shard, index: a.index}
}

// watch reads until ctx ends.
func (a *auditor) watch(ctx context.Context) {
	for ctx.Err() == nil {
		a.mu.Lock()
		if err := a.read(ctx); err != nil && ctx.Err() == nil {
			a.violated("the journal cannot be read: %v", err)
		}
		a.mu.Unlock()
		select {
		case <-a.after(60 * time.Millisecond):
		case <-ctx.Done():
		}
	}
}

// without runs f while the auditor does not read, and goes on with the deployment that f returns.
func (a *auditor) without(f func() *jetstream.Deployment) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.deployment = f()
}

func (a *auditor) read(ctx context.Context) error {
	for _, b := range a.shards {
		if err := b.read(ctx, a.deployment); err != nil {
			return err
		}
	}
	return nil
}

// fresh reads all journals from their beginning, as a new owner would.
func (a *auditor) fresh(ctx context.Context) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	for shard := range a.cfg.shards {
		b := a.books(shard)
		if err := b.read(ctx, a.deployment); err != nil {
			return err
		}
		a.checkBounded(b)
	}
	return nil
}

// mostPages is more than the pages that so few resources need.
const mostPages = 32

// checkBounded checks that a bucket is no larger than compactions let it become: the history, what
// grows until the next one begins, and what comes until that has purged.
func (a *auditor) checkBounded(b *books) {
	bound := int64(a.cfg.tuning.History + 64 + 3*a.cfg.tuning.CompactCommits)
	if b.Commits > bound || b.Pages > mostPages {
		a.violated("shard %d: its bucket holds %d commits and %d pages; %d and %d are the most that it may",
			b.shard, b.Commits, b.Pages, bound, mostPages)
	}
}

func (a *auditor) totals() (total audit.Totals) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, b := range a.shards {
		total.Add(b.Totals)
	}
	return total
}

func (b *books) read(ctx context.Context, d *jetstream.Deployment) error {
	_, err := d.Bucket(b.shard).Replay(ctx, b.Position(), func(position uint64, r *journal.Record) error {
		c := r.GetCommit()
		for _, m := range c.GetChanges() {
			b.change(m, c)
		}
		for _, e := range r.GetPage().GetEntries() {
			b.resource(e.Name())
		}
		for _, v := range b.Read(position, r) {
			b.report(v)
		}
		return ctx.Err()
	})
	return err
}

// report ends the run with a violation, and with the history of its resource if there is one.
func (b *books) report(v audit.Violation) {
	r := b.index[v.Resource]
	if r == nil {
		b.violated("%v", v)
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.violated("%v", v)
}

// resource returns one of the run's resources. It is a violation if the shard has none of that name.
func (b *books) resource(name string) *resource {
	r := b.index[name]
	if r == nil || r.shard != b.shard {
		b.violated("shard %d, position %d: the run has no resource %q here", b.shard, b.Position(), name)
		return nil
	}
	return r
}

// change checks what the run knows of a resource, and passes it to its judge.
func (b *books) change(m *journal.Change, in *journal.Commit) {
	r, g := b.resource(m.Name()), m.GetGrant()
	if r == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.trace.add(line{
		at: b.now(), who: "journal", what: m.GetKind().String(), token: max(g.GetToken(), m.GetReserved()),
		note: fmt.Sprintf("commit %d by %s %s", in.GetNumber(), g.GetOwner(), m.GetReason()),
	})
	switch {
	case g == nil && r.class == persistent:
		r.violated("commit %d reserves tokens up to %d, but it has no ephemeral leases", in.GetNumber(),
			m.GetReserved())
	case g != nil && r.class == ephemeral:
		r.violated("commit %d records an ephemeral lease, %v", in.GetNumber(), m)
	case m.GetKind() == messages.Event_ACQUIRED:
		r.journaled(g.GetToken(), g.GetOwner(), b.now())
	}
}
