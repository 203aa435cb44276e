package takeover_test

import (
	"context"
	"fmt"

	"github.com/holdfast-io/holdfast/actors"
	"github.com/holdfast-io/holdfast/messages"
	"github.com/holdfast-io/holdfast/messages/journal"
)

// chronicle is what the journal of a shard says, from its first commit to its last, as far as it has
// been read.
type chronicle struct {
	shard         uint32
	position      uint64
	number, epoch uint64
	writer        *journal.Writer
	openedAt      int64
	// writers are all that there were, with their epochs.
	writers map[uint64]uint64
	leases  map[string]*account
	changes []*change
	records int64
	wrong   func(format string, args ...any)
}

// account is what is known of a resource.
type account struct {
	grant *journal.Grant
	held  bool
	// epoch is that of the last grant or extension; extended: it was an extension.
	epoch    uint64
	extended bool
}

// token returns the last one granted, 0 if there was none.
func (a *account) token() uint64 {
	if a == nil {
		return 0
	}
	return a.grant.GetToken()
}

// change is one of the journal, and where it stands.
type change struct {
	*journal.Change
	where string
}

func (c *change) token() uint64 { return c.GetGrant().GetToken() }

// String names the change for a report.
func (c *change) String() string {
	return fmt.Sprintf("%s: %s of %q token %d", c.where, c.GetKind(), c.GetGrant().GetResource(), c.token())
}

// readChronicle reads the whole journal of a shard and checks that each record follows from those
// before it.
func readChronicle(ctx context.Context, s *storm, shard uint32, journal actors.Journal) *chronicle {
	c := &chronicle{shard: shard, writers: make(map[uint64]uint64), leases: make(map[string]*account), wrong: s.wrong}
	if _, err := journal.Replay(ctx, 0, c.read); err != nil {
		s.wrong("shard %d: its journal cannot be read: %v", shard, err)
	}
	return c
}

func (c *chronicle) read(position uint64, r *journal.Record) error {
	where := fmt.Sprintf("shard %d, position %d, %s", c.shard, position, r.Describe())
	if position <= c.position {
		c.wrong("%s: it stands behind position %d", where, c.position)
	}
	c.position = position
	c.records++
	if p := r.GetPage(); p != nil {
		if p.GetNumber() != c.number || p.GetEpoch() != c.epoch {
			c.wrong("%s: it stands behind commit %d of epoch %d", where, c.number, c.epoch)
		}
		return nil
	}
	c.commit(where, r.GetCommit())
	return nil
}

// commit checks that the commit is the next one, and by the writer who was in his right.
func (c *chronicle) commit(where string, next *journal.Commit) {
	if next.GetNumber() != c.number+1 {
		c.wrong("%s: it follows commit %d", where, c.number)
	}
	by, own := next.GetWriter(), next.GetWriter().GetIncarnation() == c.writer.GetIncarnation()
	epoch, known := c.writers[by.GetIncarnation()]
	switch {
	case next.GetOpened() && (known || next.GetEpoch() != c.epoch+1):
		c.wrong("%s: %s opens it behind epoch %d of %s", where, by, c.epoch, c.writer)
	case !next.GetOpened() && known && !own:
		c.wrong("%s: %s, whose epoch %d was ended by %s, goes on", where, by, epoch, c.writer)
	case !next.GetOpened() && (!own || next.GetEpoch() != c.epoch):
		c.wrong("%s: by %s, in epoch %d of %s", where, by, c.epoch, c.writer)
	}
	c.number, c.epoch, c.writer = next.GetNumber(), next.GetEpoch(), by
	if next.GetOpened() {
		c.writers[by.GetIncarnation()], c.openedAt = next.GetEpoch(), next.GetAtMs()
	}
	for _, step := range next.GetChanges() {
		c.change(&change{step, where}, next)
	}
}

func (c *chronicle) change(next *change, in *journal.Commit) {
	c.changes = append(c.changes, next)
	g := next.GetGrant()
	a := c.leases[g.GetResource()]
	if a == nil {
		a = &account{}
		c.leases[g.GetResource()] = a
	}
	token, owner := a.token(), a.grant.GetOwner()
	switch granted := next.GetKind() == messages.Event_ACQUIRED; {
	case granted && a.held:
		c.wrong("%v: while %s holds token %d", next, owner, token)
	case granted && g.GetToken() != token+1:
		c.wrong("%v: behind token %d", next, token)
	case !granted && (!a.held || g.GetToken() != token || g.GetOwner() != owner):
		c.wrong("%v of %s: where token %d of %s stands, held %t", next, g.GetOwner(), token, owner, a.held)
	case next.GetKind() == messages.Event_EXPIRED:
		c.expired(next, a, in)
	}
	if kind := next.GetKind(); kind == messages.Event_ACQUIRED || kind == messages.Event_EXTENDED {
		a.held, a.epoch, a.extended = true, c.epoch, kind == messages.Event_EXTENDED
	} else {
		a.held = false
	}
	a.grant = g
}

// margin is what the wall clock, by which commits are stamped, may differ from the one that leases end
// by.
const margin = 5

// expired checks that the lease has not ended early: it begins afresh with each owner.
func (c *chronicle) expired(next *change, a *account, in *journal.Commit) {
	began := a.grant.GetAcquiredAtMs()
	switch {
	case a.epoch != c.epoch:
		began = c.openedAt
	case a.extended:
		return // nobody has recorded when
	}
	if lasted := in.GetAtMs() - began; lasted < int64(a.grant.GetTtlMs())-margin {
		c.wrong("%v: %d ms after it began, of %d ms", next, lasted, a.grant.GetTtlMs())
	}
}
