package audit

import (
	"cmp"
	"slices"

	"google.golang.org/protobuf/proto"

	"github.com/holdfast-io/holdfast/messages"
	"github.com/holdfast-io/holdfast/messages/journal"
)

// The reasons for which a lost lease no longer holds its resource back. Any other one is that of a confirmation.
const (
	DelayOver = "the delay is over"
	TakenBack = "taken back by its owner"
)

// loss is a lost lease that holds its resource back.
type loss struct {
	*journal.Grant
	how messages.Event_Kind
	// due is the earliest that its delay can be over, by the owner's wall clock; 0: not known.
	due int64
}

// restart begins the delay at a time; 0: it is not known.
func (l *loss) restart(at int64) {
	if l.due = 0; at != 0 {
		l.due = at + int64(l.GetDelayMs())
	}
}

// holdsBack reports whether the resource is held back if the lease is lost.
func holdsBack(g *journal.Grant) bool { return g.GetDelayMs() > 0 || g.GetConfirm() }

// lose notes that a lease that was lost holds the resource back. It was not lost before due; 0: that is not known, as
// of a break, which may have been decided some time before its commit.
func (r *resource) lose(m *journal.Change, due int64) {
	g, how := m.GetGrant(), m.GetKind()
	if !holdsBack(g) || how != messages.Event_EXPIRED && how != messages.Event_BROKEN {
		return
	}
	l := &loss{Grant: g, how: how}
	l.restart(due)
	r.lost = append(r.lost, l)
	slices.SortFunc(r.lost, func(a, b *loss) int { return cmp.Compare(a.GetToken(), b.GetToken()) })
}

// notBack checks that no lost lease holds the resource back when a lease is granted.
func (r *resource) notBack(g *journal.Grant, wrong func(string, ...any)) {
	if r.known && len(r.lost) > 0 {
		wrong("token %d is granted to %s while the lost token %d of %s holds the resource back",
			g.GetToken(), g.GetOwner(), r.lost[0].GetToken(), r.lost[0].GetOwner())
	}
}

// confirm takes in that a lost lease no longer holds the resource back.
func (r *resource) confirm(m *journal.Change, c *journal.Commit, wrong func(string, ...any)) {
	g := m.GetGrant()
	place := slices.IndexFunc(r.lost, func(l *loss) bool { return l.GetToken() == g.GetToken() })
	switch {
	case place >= 0:
		r.confirms(r.lost[place], m, c, wrong)
		r.lost = slices.Delete(r.lost, place, place+1)
	case r.known:
		wrong("CONFIRMED of token %d, which is not lost", g.GetToken())
	}
	if g.GetToken() >= r.last.GetToken() {
		r.set(g, messages.Event_CONFIRMED, c)
	}
}

// confirms checks the end of what a lost lease holds back.
func (r *resource) confirms(l *loss, m *journal.Change, c *journal.Commit, wrong func(string, ...any)) {
	g := m.GetGrant()
	if !proto.Equal(g, l.Grant) {
		wrong("CONFIRMED of %v, where %v is lost", g, l.Grant)
	}
	switch {
	case m.GetReason() == DelayOver && g.GetDelayMs() == 0:
		wrong("the delay of token %d is over, which has none", g.GetToken())
	case m.GetReason() == DelayOver && isEarly(c.GetAtMs(), l.due, l.GetDelayMs()):
		wrong("the delay of token %d is over at %d, %d ms before its time", g.GetToken(), c.GetAtMs(),
			l.due-c.GetAtMs())
	case m.GetReason() == TakenBack && g.GetConfirm():
		wrong("token %d is taken back, though its loss had to be confirmed", g.GetToken())
	case m.GetReason() == TakenBack && !r.grants(c, m):
		wrong("token %d is taken back, and nothing is granted to %s", g.GetToken(), g.GetOwner())
	}
}

// grants reports whether the commit grants the resource to the owner of a lost lease, behind the end of its loss. An
// ephemeral grant is no change, but its token is reserved.
func (r *resource) grants(c *journal.Commit, m *journal.Change) bool {
	behind := c.GetChanges()[slices.Index(c.GetChanges(), m)+1:]
	at := slices.IndexFunc(behind, func(next *journal.Change) bool {
		return next.Name() == m.Name() && (next.GetKind() == messages.Event_ACQUIRED ||
			next.GetReserved() > m.GetGrant().GetToken())
	})
	return at >= 0 && (behind[at].GetReserved() > 0 || behind[at].GetGrant().GetOwner() == m.GetGrant().GetOwner())
}

// losses are the lost leases of an entry, the oldest first.
func losses(e *journal.Entry) (lost []*loss) {
	for _, l := range e.GetLost() {
		g := proto.CloneOf(l.GetGrant())
		g.Resource = e.Name()
		lost = append(lost, &loss{Grant: g, how: l.GetHow()})
	}
	return lost
}

// adoptLosses takes in what an entry says of lost leases. isSure: the journal has shown all of them.
func (r *resource) adoptLosses(e *journal.Entry, isSure bool) {
	lost := losses(e)
	for _, l := range lost {
		place := slices.IndexFunc(r.lost, func(known *loss) bool { return known.GetToken() == l.GetToken() })
		if isSure && place >= 0 {
			l.due = r.lost[place].due
		}
	}
	r.lost = lost
}
