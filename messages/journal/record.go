package journal

import (
	"fmt"
	"slices"
)

// Format is the newest format of a stored [Record] that this code reads. It writes it only where a record needs it, see
// [Record.SetFormat].
//
//   - 1: every lease is exclusive
//   - 2: leases may be shared
//   - 3: leases may have a secret, their metadata may change, and a lost lease may hold its resource back
//   - 4: a lease may have several tokens, or a shortest hold
//   - 5: a journal may be closed, and there is a register of generations
const Format = 5

const (
	// plainFormat is that of a record without anything that is new in the later ones, so that earlier versions read it.
	plainFormat = 3
	// blockFormat is that of a record with several tokens or a shortest hold.
	blockFormat = 4
)

// SetFormat gives the record the oldest format that has all that is in it. The body must not change any more.
func (x *Record) SetFormat() {
	x.Format = plainFormat
	if x.GetCommit().GetClosed() != nil || x.GetRegister() != nil {
		x.Format = Format
	} else if slices.ContainsFunc(x.GetCommit().GetChanges(), func(c *Change) bool { return c.GetGrant().isNew() }) ||
		slices.ContainsFunc(x.GetPage().GetEntries(), (*Entry).isNew) {
		x.Format = blockFormat // mutant: BlockInAnOldFormat
	}
}

// isNew reports whether versions before [blockFormat] do not know what the grant has.
func (g *Grant) isNew() bool { return g.GetTokens() > 1 || g.GetMinHoldMs() > 0 }

// isNew is [Grant.isNew] for an entry. Only its last lease can have that, since it is held alone.
func (x *Entry) isNew() bool {
	return x.GetGrant().isNew() || slices.ContainsFunc(x.GetLost(), func(l *Loss) bool { return l.GetGrant().isNew() })
}

// Name identifies the page within its shard: "p" and the bits of its prefix. So the name of a page begins
// with the names of all pages that it was split from.
func (p *Page) Name() string {
	return PageName(p.GetPrefix(), p.GetDepth())
}

// PageName returns the name of the page of all resources whose hash has prefix as its first depth bits.
func PageName(prefix, depth uint32) string {
	if depth == 0 {
		return "p"
	}
	return fmt.Sprintf("p%0*b", depth, prefix)
}

// Describe names the record for logs and errors, without its content.
func (x *Record) Describe() string {
	switch body := x.GetBody().(type) {
	case *Record_Commit:
		return fmt.Sprintf("commit %d of epoch %d", body.Commit.GetNumber(), body.Commit.GetEpoch())
	case *Record_Page:
		return fmt.Sprintf("page %s at commit %d", body.Page.Name(), body.Page.GetNumber())
	case *Record_Register:
		return fmt.Sprintf("register of generation %d", body.Register.GetPresent().GetGeneration())
	}
	return "record without a body"
}
