package linear

import (
	"slices"
	"time"

	"github.com/holdfast-io/holdfast/messages"
)

// life is what the journal has of one resource: its changes in their order, and where to find them.
type life struct {
	changes []change
	// granted and ended say at which change a token was granted and its lease ended.
	granted, ended map[uint64]int
	// confirmed say at which change it was first said that the ended lease of a token no longer held the resource back,
	// and over at which it did so no longer: a confirmed loss may leave a rest.
	confirmed, over map[uint64]int
	// grown are the changes that gave a lease more tokens and left its time as it was.
	grown map[growth]int
	// firsts are the first tokens of the leases in their order, and lasts the last ones of them at the end.
	firsts []uint64
	lasts  map[uint64]uint64
	// grants are those of a request, extended the extensions of a lease by a TTL.
	grants   map[asked][]int
	extended map[extension][]int
	// updated are the changes of a lease to a value.
	updated map[update][]int
	// downgraded are the grants that go on with the lease of a token.
	downgraded map[uint64]int
}

// asked is a request that may be granted, extension one that may prolong a lease, growth one that may give it tokens,
// update one that may change its value.
type (
	asked     struct{ owner, request string }
	extension struct {
		token uint64
		ttl   uint32
	}
	growth struct {
		token  uint64
		tokens uint32
	}
	update struct {
		token uint64
		value string
	}
)

func newLife() *life {
	return &life{
		granted: make(map[uint64]int), ended: make(map[uint64]int), confirmed: make(map[uint64]int),
		over: make(map[uint64]int), grown: make(map[growth]int), lasts: make(map[uint64]uint64),
		grants: make(map[asked][]int), extended: make(map[extension][]int), updated: make(map[update][]int),
		downgraded: make(map[uint64]int),
	}
}

// add takes in the next change. The first of two that cannot both be counts; that there are two, the
// check of the journal says.
func (l *life) add(c change) {
	at, g := len(l.changes), c.GetGrant()
	c.grows = c.GetKind() != messages.Event_ACQUIRED && last(g.GetToken(), g.GetTokens()) > l.lasts[g.GetToken()]
	l.lasts[g.GetToken()] = max(l.lasts[g.GetToken()], last(g.GetToken(), g.GetTokens()))
	l.changes = append(l.changes, c)
	switch c.GetKind() {
	case messages.Event_ACQUIRED:
		l.firsts = append(l.firsts, g.GetToken())
		once(l.granted, g.GetToken(), at)
		if g.GetFormer() != 0 {
			once(l.downgraded, g.GetFormer(), at)
			return
		}
		id := asked{g.GetOwner(), g.GetRequestId()}
		l.grants[id] = append(l.grants[id], at)
	case messages.Event_EXTENDED:
		id := extension{g.GetToken(), g.GetTtlMs()}
		l.extended[id] = append(l.extended[id], at)
	case messages.Event_UPDATED:
		if c.grows {
			l.grown[growth{g.GetToken(), g.GetTokens()}] = at
			return
		}
		id := update{g.GetToken(), g.GetMetadata()[valueEntry]}
		l.updated[id] = append(l.updated[id], at)
	case messages.Event_CONFIRMED:
		once(l.confirmed, g.GetToken(), at)
		if c.GetRestingMs() == 0 {
			once(l.over, g.GetToken(), at)
		}
	default:
		once(l.ended, g.GetToken(), at)
	}
}

// first returns the token of the first grant, 0 if there is none.
func (l *life) first() uint64 {
	for _, c := range l.changes {
		if c.GetKind() == messages.Event_ACQUIRED {
			return c.GetGrant().GetToken()
		}
	}
	return 0
}

// named returns the first token of the lease that has this one; the token itself if none does.
func (l *life) named(token uint64) uint64 {
	place, found := slices.BinarySearch(l.firsts, token)
	if !found && place > 0 && token <= l.lasts[l.firsts[place-1]] {
		return l.firsts[place-1]
	}
	return token
}

// next returns the token of the grant behind the lease that has this one.
func (l *life) next(token uint64) uint64 {
	return max(token, l.lasts[l.named(token)]) + 1
}

func once(m map[uint64]int, token uint64, at int) {
	if _, known := m[token]; !known {
		m[token] = at
	}
}

// now returns the token under which the lease of a token goes on in the end, if it was downgraded.
func (l *life) now(token uint64) uint64 {
	for {
		at, ok := l.downgraded[token]
		if !ok || l.changes[at].GetGrant().GetToken() <= token {
			return token
		}
		token = l.changes[at].GetGrant().GetToken()
	}
}

// isShared reports whether the token is of a shared lease, or of one that became so.
func (l *life) isShared(token uint64) bool {
	at, ok := l.granted[l.now(token)]
	return ok && l.changes[at].GetGrant().GetLimit() > 0
}

// extensionOf returns the change that an answer to an extension shows: an extension, the first of several like it,
// or a downgrade.
func (l *life) extensionOf(o *Operation) (at int, ok bool) {
	if at, ok := l.downgradeOf(o); ok {
		return at, true
	}
	if all := l.extended[extension{o.Shown.Token, o.TTL}]; len(all) > 0 {
		return all[0], true
	}
	return unseen, false
}

// updateOf returns the change that an answer to a set shows, the first of several like it.
func (l *life) updateOf(o *Operation) (at int, ok bool) {
	if all := l.updated[update{o.Shown.Token, o.Value}]; len(all) > 0 {
		return all[0], true
	}
	return unseen, false
}

// downgradeOf returns the downgrade that the operation has led to. No two requests of an owner have the same TTL.
func (l *life) downgradeOf(o *Operation) (at int, ok bool) {
	if o.Kind != messages.OpExtend || o.Limit == 0 {
		return unseen, false
	}
	for _, at := range l.downgraded {
		if o.hasDowngraded(l.changes[at].GetGrant()) {
			return at, true
		}
	}
	return unseen, false
}

// unseen is the place of a change that an answer does not show.
const unseen = -1

// shown returns the last change that the answer is certain to show, or unseen.
func (l *life) shown(o *Operation) int {
	if o.Orphan || o.Kind == messages.OpKeep {
		return unseen
	}
	find := func(m map[uint64]int, token uint64) int {
		if at, ok := m[token]; ok {
			return at
		}
		return unseen
	}
	switch o.Status {
	case messages.Status_GRANTED, messages.Status_HELD, messages.Status_NOT_OWNER, messages.Status_STALE_TOKEN:
		return find(l.granted, o.Shown.Token)
	case messages.Status_EXTENDED, messages.Status_UPDATED:
		if o.overtaken() {
			if at, ok := l.grown[growth{o.Shown.Token, o.Shown.Tokens}]; ok {
				return at
			}
			return find(l.granted, o.Shown.Token)
		}
		if o.Status == messages.Status_UPDATED {
			at, _ := l.updateOf(o)
			return at
		}
		at, _ := l.extensionOf(o)
		return at
	case messages.Status_HELD_BACK:
		return find(l.ended, o.Shown.Token)
	case messages.Status_RELEASED, messages.Status_EXPIRED:
		if o.Kind == messages.OpConfirm {
			return max(find(l.confirmed, l.named(o.Token)), find(l.ended, l.named(o.Token)))
		}
		if o.late() {
			return find(l.ended, o.Shown.Token)
		}
		if o.Kind == messages.OpBreak {
			return find(l.ended, l.named(o.Token))
		}
		return find(l.ended, o.Token) // if that was a downgrade, what it became has ended later
	case messages.Status_FREE:
		token := l.named(o.Shown.Token) // it shows the last one
		return max(find(l.ended, token), find(l.over, token))
	default:
		return unseen
	}
}

// seen returns for each change when the first answer came that shows it or of a later one: by then
// it had happened.
func (l *life) seen(operations []Operation) []time.Duration {
	seen := make([]time.Duration, len(l.changes))
	for i := range seen {
		seen[i] = Never
	}
	for i := range operations {
		if at := l.shown(&operations[i]); at != unseen && !operations[i].Stale {
			seen[at] = min(seen[at], operations[i].Return)
		}
	}
	for i := len(seen) - 2; i >= 0; i-- {
		seen[i] = min(seen[i], seen[i+1])
	}
	return seen
}
