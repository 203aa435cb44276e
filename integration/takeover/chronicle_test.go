package takeover_test

import (
	"context"
	"fmt"

	"github.com/holdfast-io/holdfast/actors"
	"github.com/holdfast-io/holdfast/integration/audit"
	"github.com/holdfast-io/holdfast/messages/journal"
)

// chronicle is what the journal of a shard says, from its first commit to its last.
type chronicle struct {
	*audit.Shard
	changes []*change
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

// readChronicle reads and checks the whole journal of a shard.
func readChronicle(ctx context.Context, s *storm, shard uint32, from actors.Journal) *chronicle {
	c := &chronicle{Shard: audit.New(shard)}
	_, err := from.Replay(ctx, 0, func(position uint64, r *journal.Record) error {
		for _, v := range c.Read(position, r) {
			s.wrong("%v", v)
		}
		for _, m := range r.GetCommit().GetChanges() {
			where := fmt.Sprintf("shard %d, position %d, %s", shard, position, r.Describe())
			c.changes = append(c.changes, &change{m, where})
		}
		return nil
	})
	if err != nil {
		s.wrong("shard %d: its journal cannot be read: %v", shard, err)
	}
	return c
}
