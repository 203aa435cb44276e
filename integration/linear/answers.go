package linear

import (
	"fmt"
	"slices"
	"time"

	"github.com/holdfast-io/holdfast/messages"
	"github.com/holdfast-io/holdfast/messages/journal"
)

// answers holds what the clients of one resource received against its changes in the journal.
type answers struct {
	operations []Operation
	*life
	seen  []time.Duration
	slack time.Duration

	acquires map[asked][]*Operation
	extends  map[uint32][]*Operation // by TTL, of acquires and extends
	sets     map[string][]*Operation // by value
	releases map[string][]*Operation // by owner
	breaks   map[uint64][]*Operation // by the first token of the lease
	confirms map[uint64][]*Operation // by the first token of the lease
	grows    map[uint32][]*Operation // by how many tokens the lease is to have
	wrong    []string
}

// wallSlack is by how much the wall clock of a node may differ from that of the history.
const wallSlack = 10 * time.Millisecond

// newAnswers sorts the operations by what they may have led to.
func newAnswers(operations []Operation, l *life, slack time.Duration) *answers {
	a := &answers{
		operations: operations, life: l, seen: l.seen(operations), slack: slack,
		acquires: make(map[asked][]*Operation), extends: make(map[uint32][]*Operation),
		sets: make(map[string][]*Operation), releases: make(map[string][]*Operation),
		breaks:   make(map[uint64][]*Operation),
		confirms: make(map[uint64][]*Operation), grows: make(map[uint32][]*Operation),
	}
	for i := range operations {
		o := &operations[i]
		switch o.Kind {
		case messages.OpAcquire:
			id := asked{o.Owner, o.RequestID}
			a.acquires[id] = append(a.acquires[id], o)
			if o.Reentrant {
				a.extends[o.TTL] = append(a.extends[o.TTL], o)
			}
		case messages.OpExtend, messages.OpKeep:
			a.extends[o.TTL] = append(a.extends[o.TTL], o)
			if o.Tokens > 0 {
				a.grows[o.Tokens] = append(a.grows[o.Tokens], o)
			}
		case messages.OpSet:
			a.sets[o.Value] = append(a.sets[o.Value], o)
		case messages.OpRelease:
			a.releases[o.Owner] = append(a.releases[o.Owner], o)
		case messages.OpEnd:
			if o.Orphan {
				a.extends[o.TTL] = append(a.extends[o.TTL], o)
			} else {
				a.releases[o.Owner] = append(a.releases[o.Owner], o)
			}
		case messages.OpBreak:
			token := l.named(o.Token)
			a.breaks[token] = append(a.breaks[token], o)
		case messages.OpConfirm:
			token := l.named(o.Token)
			a.confirms[token] = append(a.confirms[token], o)
		}
	}
	return a
}

// checkAnswers checks that every answer that shows a change has it in the journal, that every change
// there was asked for, no oftener than it may have been carried out, and that none was seen before. The history
// began at that Unix time in milliseconds.
func checkAnswers(operations []Operation, l *life, slack time.Duration, began int64) []string {
	a := newAnswers(operations, l, slack)
	for i := range operations {
		switch o := &operations[i]; {
		case o.ofSession():
			a.session(o)
		case !o.Stale:
			a.answer(o)
		}
	}
	for at := range a.changes {
		a.change(at)
	}
	a.withdrawals(began)
	a.expiries()
	a.rests()
	return a.wrong
}

func (a *answers) is(format string, args ...any) {
	a.wrong = append(a.wrong, fmt.Sprintf(format, args...))
}

// answer checks that an answer shows what is in the journal.
func (a *answers) answer(o *Operation) {
	switch o.Status {
	case messages.Status_GRANTED, messages.Status_HELD, messages.Status_NOT_OWNER, messages.Status_STALE_TOKEN:
		at, ok := a.granted[o.Shown.Token]
		if !ok || a.changes[at].GetGrant().GetOwner() != o.Shown.Owner {
			a.is("no such grant is in the journal: %s", o.span())
		} else if o.granted() && !o.Reentrant && a.changes[at].GetGrant().GetRequestId() != o.RequestID {
			a.is("the grant is another request's: %s; %s", o.span(), a.changes[at])
		}
		a.shares(o, slices.Concat(o.Holders, []Shown{o.Shown}))
	case messages.Status_HELD_BACK:
		at, ok := a.ended[o.Shown.Token]
		if !ok || !a.changes[at].leavesAHold() || a.changes[at].GetGrant().GetOwner() != o.Shown.Owner {
			a.is("in the journal no such lease was lost, nor rests: %s", o.span())
		}
	case messages.Status_EXTENDED:
		if _, ok := a.extensionOf(o); !ok && !o.overtaken() {
			a.is("no such extension is in the journal: %s", o.span())
		}
		a.shares(o, []Shown{o.Shown})
	case messages.Status_UPDATED:
		if _, ok := a.updateOf(o); !ok && !o.overtaken() {
			a.is("no such change of its value is in the journal: %s", o.span())
		}
	case messages.Status_RELEASED:
		if !a.hasEnded(o) {
			a.is("no such end of a lease is in the journal: %s", o.span())
		}
	case messages.Status_CANCELLED:
		if o.Kind == messages.OpAcquire && !a.withdrawn(o) {
			a.is("no release has withdrawn it: %s", o.span())
		}
	case messages.Status_EXPIRED:
		if (o.late() || o.named()) && !a.hasEnded(o) {
			a.is("no such end of a lease is in the journal: %s", o.span())
		}
		if at, ok := a.ended[a.now(o.Token)]; o.Token != 0 &&
			(!ok || a.changes[at].GetKind() == messages.Event_RELEASED) {
			a.is("in the journal the lease has neither run out nor been broken: %s", o.span())
		}
	case messages.Status_FREE:
		token := a.named(o.Shown.Token)
		at, ok := a.ended[token]
		if o.Shown.Token != 0 && !ok {
			a.is("in the journal the lease has not ended: %s", o.span())
		}
		if _, over := a.over[token]; ok && !over && a.changes[at].leavesAHold() {
			a.is("in the journal the lease still holds the resource back: %s", o.span())
		}
	}
}

// shares checks that leases are shown as they are shared in the journal.
func (a *answers) shares(o *Operation, shown []Shown) {
	for _, l := range shown {
		at, ok := a.granted[l.Token]
		if ok && l.sharing != grantOf(a.changes[at].GetGrant()) {
			a.is("token %d is shown otherwise than in the journal%s: %s; %s", l.Token, l.text(), o.span(),
				a.changes[at])
		}
	}
}

// withdrawn reports whether a release that names the acquire may have come before its answer.
func (a *answers) withdrawn(o *Operation) bool {
	for _, by := range a.releases[o.Owner] {
		if by.RequestID == o.RequestID && by.Call <= o.Return {
			return true
		}
	}
	return false
}

// withdrawals checks that no request was granted by the owner that took it out of its queue before. What was granted
// after all was asked for by a later copy, since all of this one was answered.
func (a *answers) withdrawals(began int64) {
	for id, copies := range a.acquires {
		for _, o := range copies {
			if o.Status != messages.Status_CANCELLED || o.Open > 0 {
				continue
			}
			for _, at := range a.grants[id] {
				opened := time.Duration(a.changes[at].opened-began) * time.Millisecond
				if opened+wallSlack < withdrawalOf(o, a.releases) {
					a.is("the request was withdrawn before: %s; %s", o.span(), a.changes[at])
				}
			}
		}
	}
}

// withdrawalOf returns when it was first asked for that the request be taken out of the queue, 0 if it never was.
func withdrawalOf(o *Operation, releases map[string][]*Operation) time.Duration {
	first := Never
	for _, by := range releases[o.Owner] {
		if by.RequestID == o.RequestID {
			first = min(first, by.Call)
		}
	}
	if first == Never {
		return 0
	}
	return first
}

// requestHasEnded reports whether the journal has a lease of the request that ended as the answer says. A reentrant one
// may have shared another's.
func (a *answers) requestHasEnded(o *Operation) bool {
	id := asked{o.Owner, o.RequestID}
	for _, at := range a.grants[id] {
		token := a.now(a.changes[at].GetGrant().GetToken())
		end, ok := a.ended[token]
		if ok && (o.named() || token == o.Shown.Token) && a.endedAs(end, o.Status) {
			return true
		}
	}
	return o.named() && slices.ContainsFunc(a.acquires[id], func(by *Operation) bool { return by.Reentrant }) &&
		a.hasEndedFor(func(c change) bool { return c.GetGrant().GetOwner() == o.Owner }, o.Status)
}

// endedAs reports whether a change is such an end of a lease as an answer of that status shows.
func (a *answers) endedAs(at int, status messages.Status) bool {
	return (a.changes[at].GetKind() == messages.Event_RELEASED) == (status == messages.Status_RELEASED)
}

// hasEndedFor reports whether the journal has such a lease that ended as an answer of that status shows, and did not go
// on under another token.
func (a *answers) hasEndedFor(is func(change) bool, status messages.Status) bool {
	for _, at := range a.ended {
		if c := a.changes[at]; !c.downgrades() && is(c) && a.endedAs(at, status) {
			return true
		}
	}
	return false
}

// hasEnded reports whether the journal has the lease that was released or broken as such.
func (a *answers) hasEnded(o *Operation) bool {
	switch {
	case o.named() || o.late() && !o.Reentrant: // a reentrant one may have shared another's
		return a.requestHasEnded(o)
	case o.late():
		at, ok := a.ended[o.Shown.Token]
		return ok && a.endedAs(at, o.Status)
	case o.Kind == messages.OpBreak:
		at, ok := a.ended[a.named(o.Token)]
		_, confirmed := a.confirmed[a.named(o.Token)]
		return confirmed || ok && a.changes[at].GetKind() == messages.Event_BROKEN
	case o.Kind == messages.OpConfirm:
		at, ok := a.ended[a.named(o.Token)]
		_, confirmed := a.confirmed[a.named(o.Token)]
		return confirmed || ok && a.changes[at].mayRest() // also if its shortest hold was over when it was released
	default:
		return a.hasEndedFor(func(c change) bool {
			return o.names(c.GetGrant()) && (o.Token != 0 || c.GetGrant().GetOwner() == o.Owner)
		}, o.Status)
	}
}

// askers returns the operations that may have asked for a change, and how many changes are like it.
func (a *answers) askers(c change) (by []*Operation, same int) {
	g := c.GetGrant()
	switch {
	case c.GetKind() == messages.Event_ACQUIRED && g.GetFormer() != 0:
		return a.extends[g.GetTtlMs()], 1
	case c.downgrades():
		if at, ok := a.downgraded[g.GetToken()]; ok {
			return a.askers(a.changes[at])
		}
		return nil, 0
	case c.GetKind() == messages.Event_ACQUIRED, c.bounced():
		id := asked{g.GetOwner(), g.GetRequestId()}
		return a.acquires[id], len(a.grants[id])
	case c.GetKind() == messages.Event_EXTENDED:
		return a.extends[g.GetTtlMs()], len(a.extended[extension{g.GetToken(), g.GetTtlMs()}])
	case c.GetKind() == messages.Event_UPDATED && c.grows:
		return a.grows[g.GetTokens()], 1
	case c.GetKind() == messages.Event_UPDATED:
		value := g.GetMetadata()[valueEntry]
		return a.sets[value], len(a.updated[update{g.GetToken(), value}])
	case c.GetKind() == messages.Event_RELEASED:
		return a.releases[g.GetOwner()], 1
	case c.GetKind() == messages.Event_BROKEN:
		return a.breaks[g.GetToken()], 1
	case c.GetKind() == messages.Event_CONFIRMED:
		return a.confirms[g.GetToken()], 1
	default:
		return nil, 0 // time alone
	}
}

// change checks that a change was asked for, often enough and before it was seen.
func (a *answers) change(at int) {
	c := a.changes[at]
	if c.GetKind() == messages.Event_EXPIRED || c.lapses() {
		return
	}
	by, same := a.askers(c)
	times, first := 0, Never
	for _, o := range by {
		if n := a.effects(o, c); n > 0 {
			times, first = times+n, min(first, o.Call)
		}
	}
	switch {
	case times == 0:
		a.is("no request has asked for this: %s", c)
	case times < same:
		a.is("it was carried out %d times, and cannot have been asked for more than %d times: %s", same, times, c)
	case a.seen[at] < first:
		a.is("it was seen at %v, and not asked for before %v: %s", a.seen[at], first, c)
	}
}

// effects returns how often the operation may have led to such a change.
func (a *answers) effects(o *Operation, c change) int {
	if c.downgrades() {
		if at, ok := a.downgraded[c.GetGrant().GetToken()]; ok {
			return a.effects(o, a.changes[at])
		}
		return 0
	}
	if g := c.GetGrant(); g.GetFormer() != 0 && c.GetKind() == messages.Event_ACQUIRED {
		return o.downgrading(g)
	}
	return o.effects(c)
}

// downgrading returns how often the operation may have led to this grant, of a lease that was less shared before.
func (o *Operation) downgrading(g *journal.Grant) int {
	switch {
	case !o.hasDowngraded(g):
		return 0
	case o.Status == messages.Status_EXTENDED:
		return o.Open + 1
	default:
		return o.Open
	}
}

// effects returns how often the operation may have led to such a change, which is no downgrade.
func (o *Operation) effects(c change) int {
	g := c.GetGrant()
	var answered bool
	switch o.Kind {
	case messages.OpAcquire:
		answered = o.granted() && (o.Shown.Token == g.GetToken() || o.RequestID == g.GetRequestId())
	case messages.OpKeep:
		answered = o.Status == messages.Status_EXTENDED
	case messages.OpExtend:
		answered = o.Status == messages.Status_EXTENDED && o.Shown.Token == g.GetToken()
	case messages.OpSet:
		answered = o.Status == messages.Status_UPDATED
	default:
		answered = o.Status == messages.Status_RELEASED
	}
	if o.named() && o.RequestID != g.GetRequestId() {
		return 0
	}
	if c.grows && (o.Kind != messages.OpExtend || o.Tokens != g.GetTokens()) {
		return 0
	}
	if c.isOperators() && o.Reason != c.GetReason() || !c.isOperators() && o.Owner != g.GetOwner() || !o.names(g) {
		return 0
	}
	if answered && (!o.overtaken() || c.GetKind() == messages.Event_UPDATED && c.grows) {
		return o.Open + 1
	}
	return o.Open
}

// expiries checks that no lease was seen to have run out before its time, counted from its last request. The time of
// one in a session, and of one that an end of its session has left, the journal shows nothing.
func (a *answers) expiries() {
	dues, last := make(map[uint64]time.Duration), make(map[uint64]*journal.Grant)
	for at, c := range a.changes {
		g := c.GetGrant()
		switch c.GetKind() {
		case messages.Event_ACQUIRED, messages.Event_EXTENDED:
			before := last[g.GetToken()]
			orphaned := len(before.GetSession()) > 0 && before.GetTtlMs() == g.GetTtlMs()
			if dues[g.GetToken()] = a.asked(c) + millis(g.GetTtlMs()); len(g.GetSession()) > 0 || orphaned {
				delete(dues, g.GetToken())
			}
			last[g.GetToken()] = g
		case messages.Event_EXPIRED:
			if due := dues[g.GetToken()]; a.seen[at] < due-a.slack {
				a.is("it was seen at %v, %v before its time: %s", a.seen[at], due-a.seen[at], c)
			}
		}
	}
}

// asked returns when a change may have been asked for first, 0 if it was not.
func (a *answers) asked(c change) time.Duration {
	by, _ := a.askers(c)
	first := Never
	for _, o := range by {
		if a.effects(o, c) > 0 {
			first = min(first, o.Call)
		}
	}
	if first == Never {
		return 0
	}
	return first
}

// notBefore returns for each change a moment before which it cannot have happened: neither it nor any
// before it had been asked for.
func (a *answers) notBefore() []time.Duration {
	bounds := make([]time.Duration, len(a.changes))
	latest := time.Duration(0)
	for at, c := range a.changes {
		latest = max(latest, a.asked(c))
		bounds[at] = latest
	}
	return bounds
}
