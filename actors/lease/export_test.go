package lease

import (
	"cmp"
	"encoding/binary"
	"maps"
	"slices"

	"github.com/holdfast-io/holdfast/messages/journal"
)

// Fork returns copies of the states of a shard, and of what they share, that change by themselves. News is not copied,
// and no session may ask for notices.
func Fork(states []*State, past *EndedRequests, sessions *Sessions) ([]*State, *EndedRequests, *Sessions) {
	past, sessions = past.fork(), sessions.fork()
	forks := make([]*State, len(states))
	for i, s := range states {
		fork := *s
		fork.image = s.image.Clone()
		fork.queue.waiters = slices.Clone(s.queue.waiters)
		fork.unacknowledged = slices.Clone(s.unacknowledged)
		fork.past.shard, fork.sessions = past, sessions
		forks[i] = &fork
	}
	return forks, past, sessions
}

func (m *EndedRequests) fork() *EndedRequests {
	fork := *m
	fork.sharers = make(map[leaseKey][]requestKey, len(m.sharers))
	for lease, keys := range m.sharers {
		fork.sharers[lease] = slices.Clone(keys)
	}
	fork.parts = make([]*endedPart, len(m.parts))
	for i, p := range m.parts {
		fork.parts[i] = &endedPart{requests: maps.Clone(p.requests), first: p.first, last: p.last}
	}
	return &fork
}

func (s *Sessions) fork() *Sessions {
	fork := NewSessions(s.epoch)
	fork.changes = s.changes
	for tenant, g := range s.groups {
		fork.groupOf(tenant).count = g.count
	}
	for key, x := range s.byKey {
		y := *x
		y.group, y.idle = fork.groupOf(tenantOf(s, x.group)), nil
		y.leases, y.awaited = maps.Clone(x.leases), maps.Clone(x.awaited)
		fork.byKey[key] = &y
	}
	for _, g := range s.groups {
		for e := g.idle.Front(); e != nil; e = e.Next() {
			y := fork.byKey[e.Value.(*Session).Key]
			y.idle = y.group.idle.PushBack(y)
		}
	}
	return fork
}

// Wants returns how many entries the session keeps about leases that others want.
func (x *Session) Wants() int {
	if x.wanted == nil {
		return 0
	}
	return len(x.wanted.byLease) + x.wanted.notices.Len() + x.wanted.names.Len()
}

func tenantOf(s *Sessions, g *group) string {
	for tenant, other := range s.groups {
		if other == g {
			return tenant
		}
	}
	panic("a session of no group")
}

// Names are the owners, request ids and secrets that a search uses. They give a [Key] back what the states have
// digests of.
type Names struct {
	owners   map[string]int
	requests map[requestKey]name
	sessions []SessionKey
}

// name is what a request is known by: the places of its owner and resource, its id and the hash of its secret, or a
// token in the place of an id.
type name struct {
	owner, resource int
	rest            string
	token           uint64
}

// maxNamed is how many tokens of a resource have names.
const maxNamed = 64

// NewNames prepares the names for the tokens behind a floor.
func NewNames(resources, owners, ids []string, hashes [][]byte, sessions []string, floor uint64) *Names {
	n := &Names{owners: make(map[string]int), requests: make(map[requestKey]name)}
	for _, id := range sessions {
		n.sessions = append(n.sessions, KeyOfSession(id))
	}
	for i, owner := range owners {
		n.owners[owner] = i
		for _, hash := range append(hashes, nil) {
			who := caller{owner, hash}
			for r, resource := range resources {
				for _, id := range ids {
					n.requests[keyOf(resource, who, id)] = name{i, r, id + string(hash), 0}
				}
				for token := floor + 1; token <= floor+maxNamed; token++ {
					n.requests[keyOf(resource, who, tokenID(token))] = name{i, r, string(hash), token}
				}
			}
		}
	}
	return n
}

// Key appends to a key what decides about the future of the states: two states with the same key do the same at
// the same distances of time, with the same distances of tokens, and with the owners in other places. numbers has the
// place of each owner, -1 if the states know nothing of it.
//
// It leaves out what is shown and never looked at: wall clocks, the tokens of requests that have ended, the numbers
// of losses. It does not know that the memory of ended requests is bounded, and what the
// blocks of a resource may take, which no search comes near.
func Key(key []byte, states []*State, now Instant, names *Names) (_ []byte, numbers []int) {
	k := &keyer{key: key, now: now, names: names, numbers: slices.Repeat([]int{-1}, len(names.owners))}
	for _, s := range states {
		k.state(s)
	}
	k.ended(states)
	k.sessions(states[0].sessions)
	return k.key, k.numbers
}

type keyer struct {
	key     []byte
	now     Instant
	names   *Names
	numbers []int
	next    int
}

func (k *keyer) put(n ...uint64) {
	for _, n := range n {
		k.key = binary.AppendUvarint(k.key, n)
	}
}

func (k *keyer) time(at Instant) {
	switch at {
	case Never:
		k.put(1)
	case 0:
		k.put(2)
	default:
		k.key = binary.AppendVarint(append(k.key, 3), int64(at-k.now))
	}
}

func (k *keyer) text(text string) {
	k.key = append(binary.AppendUvarint(k.key, uint64(len(text))), text...)
}

func (k *keyer) owner(i int) {
	if k.numbers[i] < 0 {
		k.numbers[i] = k.next
		k.next++
	}
	k.put(uint64(k.numbers[i]))
}

func (k *keyer) state(s *State) {
	i := &s.image
	last := uint64(i.Token())
	k.put(last-uint64(i.leases.last.token()), i.OwnerDigest)
	if i.Reserved > 0 {
		k.put(1 + uint64(i.Reserved) - last)
	}
	k.put(0, uint64(i.leases.len()))
	for place := range i.leases.len() {
		l := i.leases.at(place)
		k.put(uint64(l.How), uint64(l.RestMs))
		k.time(l.Deadline)
		k.time(l.Rest)
		k.grant(last, l.Grant)
	}
	k.put(uint64(len(s.queue.waiters)))
	for _, w := range s.queue.waiters {
		k.waiter(w)
	}
	for _, token := range s.unacknowledged {
		k.put(1 + last - uint64(token))
	}
	k.put(0, digit(s.hasEphemeral), digit(s.awaited), digit(s.moved), digit(s.past.shard.remembersSince(s.past.noted)))
}

func digit(is bool) uint64 {
	if is {
		return 1
	}
	return 0
}

func (k *keyer) grant(last uint64, g *journal.Grant) {
	k.owner(k.names.owners[g.GetOwner()])
	former := uint64(0)
	if g.GetFormer() > 0 {
		former = 1 + last - g.GetFormer()
	}
	k.put(last-g.GetToken(), last-uint64(g.Fence()), former, uint64(g.GetTtlMs()), uint64(g.GetLimit()),
		uint64(g.GetDurability()), uint64(g.GetDelayMs()), digit(g.GetConfirm()), g.GetExtendOrder(), g.GetSetOrder(),
		uint64(g.GetTokens()), uint64(g.GetMinHoldMs()), uint64(len(g.GetSlots())))
	for _, slot := range g.GetSlots() {
		k.put(uint64(slot))
	}
	k.text(g.GetRequestId())
	k.text(string(g.GetSecretHash()))
	k.text(string(g.GetSession()))
	k.text(g.GetMetadata()["meta"])
}

func (k *keyer) waiter(w waiter) {
	r := w.request
	k.owner(k.names.owners[r.GetOwner()])
	k.time(w.until)
	k.put(uint64(r.GetTtlMs()), uint64(r.GetLimit()), uint64(r.GetPermits()), uint64(r.GetDurability()),
		uint64(r.GetDelayMs()), digit(r.GetConfirm()), digit(r.GetReentrant()), uint64(r.GetTokens()),
		uint64(r.GetMinHoldMs()))
	k.text(r.GetRequestId())
	k.text(string(r.GetSecretHash()))
	k.text(r.GetSession())
	k.text(r.GetMetadata()["meta"])
}

// memory is an ended request, or one that shares a lease, of an owner.
type memory struct {
	owner int
	text  string
}

// ended encodes the memory of ended requests. It has no order of its own: owners who are known from elsewhere come in
// their order, the others in that of what is remembered of them.
func (k *keyer) ended(states []*State) {
	m := states[0].past.shard
	var all []memory
	remember := func(key requestKey, kind byte, n uint64) {
		known, ok := k.names.requests[key]
		if !ok {
			panic("a request of which the search has no name")
		}
		text := append(make([]byte, 0, 64), kind, byte(known.resource), byte(digit(known.token > 0)))
		if known.token > 0 {
			text = binary.AppendUvarint(text, uint64(states[known.resource].image.Token())-known.token)
		}
		text = append(binary.AppendUvarint(append(text, known.rest...), n), 0)
		all = append(all, memory{known.owner, string(text)})
	}
	k.put(digit(len(m.parts) > 0 && m.parts[0].first < k.now)) // see EndedRequests.remembersSince
	for _, p := range m.parts {
		for key, e := range p.requests {
			remember(key, 'e', uint64(e.how))
		}
	}
	for lease, keys := range m.sharers {
		for place, key := range keys {
			known := k.names.requests[key]
			last := uint64(states[known.resource].image.Token())
			remember(key, 's', (last-lease.token)<<8+uint64(place))
		}
	}
	if len(all) == 0 {
		k.put(0)
		return
	}
	slices.SortFunc(all, func(a, b memory) int { return cmp.Compare(a.text, b.text) })
	of := make([]string, len(k.numbers))
	for _, a := range all {
		of[a.owner] += a.text
	}
	order := make([]int, len(of))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int {
		return cmp.Or(cmp.Compare(uint(k.numbers[a]), uint(k.numbers[b])), cmp.Compare(of[b], of[a]))
	})
	for _, i := range order {
		if of[i] != "" {
			k.owner(i)
			k.text(of[i])
		}
	}
	k.put(0)
}

func (k *keyer) sessions(s *Sessions) {
	for place, key := range k.names.sessions {
		x := s.byKey[key]
		if x == nil {
			continue
		}
		k.put(1+uint64(place), uint64(x.ttl), uint64(x.low), uint64(x.ending), digit(x.idle != nil),
			uint64(len(x.leases)),
			uint64(len(x.awaited)))
		k.text(string(x.secretHash))
		k.time(x.deadline)
		k.time(max(x.used, k.now))
		var ttls []uint64
		for _, ttl := range x.leases {
			ttls = append(ttls, uint64(ttl))
		}
		slices.Sort(ttls)
		k.put(ttls...)
	}
	k.put(0)
}
