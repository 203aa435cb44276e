package audit

import (
	"fmt"
	"slices"

	"github.com/holdfast-io/holdfast/messages"
	"github.com/holdfast-io/holdfast/messages/journal"
)

const (
	// mostTokens is how many tokens a grant has, and one extension adds, at most.
	mostTokens = 1_000_000
	// newFormat is that of a record with a block or a shortest hold.
	newFormat = 4
)

// tokens is how many tokens the lease has.
func tokens(g *journal.Grant) uint64 { return uint64(max(g.GetTokens(), 1)) }

// last is the last token of the lease, 0 without one.
func last(g *journal.Grant) uint64 {
	if g == nil {
		return 0
	}
	return g.GetToken() + tokens(g) - 1
}

// lastFence is the highest that the holder may show to what the lock protects.
func lastFence(g *journal.Grant) uint64 {
	if !isShared(g) {
		return last(g)
	}
	return fence(g)
}

// isBlock reports whether a grant has as many tokens as one may have. A number is there only if there are several.
func isBlock(g *journal.Grant) bool { return g.GetTokens() != 1 && g.GetTokens() <= mostTokens }

func block(g *journal.Grant) string {
	return fmt.Sprintf("tokens %d to %d, a shortest hold of %d ms", g.GetToken(), last(g), g.GetMinHoldMs())
}

// isGrown reports whether a lease keeps its shortest hold and its tokens. Extensions add tokens, as an update if they
// are late.
func isGrown(kind messages.Event_Kind, g, before *journal.Grant) bool {
	mayGrow := kind == messages.Event_EXTENDED || kind == messages.Event_UPDATED
	more := tokens(g) > tokens(before) && tokens(g)-tokens(before) <= mostTokens
	return g.GetMinHoldMs() == before.GetMinHoldMs() && (g.GetTokens() == before.GetTokens() || mayGrow && more)
}

// isTombstone reports whether a grant is what a page keeps of a lease that ended long ago: its last token, and of a
// block also the first, by which it may be named.
func isTombstone(g, ended *journal.Grant) bool {
	if g.GetToken() != last(ended) || g.GetTokens() != 0 {
		return false
	}
	if tokens(ended) > 1 {
		return g.GetFormer() == ended.GetToken()
	}
	return g.GetFormer() == ended.GetFormer()
}

// formatOf is the lowest format that a record may have.
func formatOf(r *journal.Record) uint32 {
	isNew := func(g *journal.Grant) bool { return g.GetTokens() > 0 || g.GetMinHoldMs() > 0 }
	changes, entries := r.GetCommit().GetChanges(), r.GetPage().GetEntries()
	if slices.ContainsFunc(changes, func(m *journal.Change) bool { return isNew(m.GetGrant()) }) ||
		slices.ContainsFunc(entries, func(e *journal.Entry) bool { return isNew(e.GetGrant()) }) {
		return newFormat
	}
	return 0
}
