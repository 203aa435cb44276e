package lease_test

import (
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/holdfast-io/holdfast/actors/exhaustive"
	"github.com/holdfast-io/holdfast/actors/lease"
	"github.com/holdfast-io/holdfast/messages"
)

// world is what may happen in a search: who there is, and what each of them may do at any time. Its times are few, so
// that the same distances come again: a step is at the present instant, or at the next deadline, or later by less.
type world struct {
	name   string
	owners []string
	// moves are steps without a time, see [script]. Those of an owner are everybody's; op and node are by themselves.
	moves []string
	floor messages.Token
	// later is by how much time may pass at once, if nothing is due before; 0: it goes from deadline to deadline.
	later time.Duration
	// depth is how many moves deep a search goes.
	depth int
	// rare is what a search must have come across.
	rare []string

	steps []step
	names *lease.Names
}

// aim returns the tokens that a move of somebody may name, by the word that stands for them.
func (a *audit) aim(word, who string) (tokens []uint64) {
	held := a.held
	switch word {
	case "":
		return []uint64{0}
	case "last":
		if a.last != nil {
			tokens = append(tokens, a.last.GetToken())
		}
		return tokens
	case "lost", "lost-end":
		held = a.lost
	}
	for _, h := range held {
		switch isOwn := h.GetOwner() == who; {
		case word == "end" && isOwn && h.GetTokens() > 0, word == "held-end", word == "lost-end" && h.GetTokens() > 0:
			tokens = append(tokens, uint64(h.Last())) // of a block
		case word == "former" && isOwn && h.GetFormer() > 0:
			tokens = append(tokens, h.GetFormer())
		case word == "before" && isOwn:
			tokens = append(tokens, h.GetToken()-1)
		case word == "own" && isOwn, word == "other" && !isOwn && len(tokens) == 0, word == "held", word == "lost":
			tokens = append(tokens, h.GetToken())
		}
	}
	return tokens
}

// situation is a resource, beside what its audit knows, at an instant.
type situation struct {
	world    *world
	at       lease.Instant
	state    *lease.State
	past     *lease.EndedRequests
	sessions *lease.Sessions
	audit    *audit
	// choices are the moves, and numbers the places of the owners in the key, -1 of those of whom nothing is known.
	// nil: they are not known yet.
	choices []choice
	numbers []int
	// isIdle: the last step took no time and changed no lease, so that the choices name the same instants and tokens.
	isIdle bool
}

func (w *world) begin() exhaustive.Situation {
	n := &situation{world: w, at: lease.Instant(time.Hour), audit: newAudit(w.floor)}
	n.beginTerm(lease.Image{Floor: w.floor})
	return n
}

// beginTerm lets an owner go on with an image, who remembers no request that ended.
func (n *situation) beginTerm(image lease.Image) {
	n.past, n.sessions = lease.NewEndedRequests(), lease.NewSessions(1)
	n.state = lease.New(resource, image, n.past, n.sessions)
}

// prepare parses the moves.
func (w *world) prepare() {
	var ids []string
	hashes := map[string][]byte{}
	for _, line := range w.moves {
		words := strings.Fields(line)
		who := []string{words[0]}
		if words[0] == "owner" {
			who = w.owners
		}
		for _, who := range who {
			s := mustParseStep(append([]string{"0s", who}, words[1:]...))
			w.steps = append(w.steps, s)
			for _, secret := range []string{s.hash, s.secret} {
				hashes[secret] = hashOf(secret)
			}
			if s.id != "" && !slices.Contains(ids, s.id) {
				ids = append(ids, s.id)
			}
		}
	}
	delete(hashes, "")
	w.names = lease.NewNames([]string{resource}, w.owners, ids, slices.Collect(maps.Values(hashes)), nil,
		uint64(w.floor))
}

// choice is a step that may happen next.
type choice struct {
	*step
	token uint64
	at    lease.Instant
}

// Moves implements exhaustive.Situation. Of the owners of whom nothing is known only the first one acts, for whom the
// others may stand as well.
func (n *situation) Moves() int {
	if n.choices != nil {
		return len(n.choices)
	}
	if n.numbers == nil {
		n.Key(nil)
	}
	unknown := slices.Index(n.numbers, -1)
	for i := range n.world.steps {
		s := &n.world.steps[i]
		if place := slices.Index(n.world.owners, s.who); unknown >= 0 && place > unknown && n.numbers[place] < 0 {
			continue
		}
		for _, token := range n.audit.aim(s.aim, s.who) {
			n.choices = append(n.choices, choice{s, token, n.at})
		}
	}
	due := n.audit.due()
	if due != lease.Never {
		n.choices = append(n.choices, choice{&ticking, 0, due})
	}
	if at := n.at.Add(n.world.later); n.world.later > 0 && at < due && due != lease.Never {
		n.choices = append(n.choices, choice{&ticking, 0, at})
	}
	return len(n.choices)
}

var ticking = tick(0)

// due returns when the next thing happens by itself.
func (a *audit) due() lease.Instant {
	due := lease.Never
	for _, h := range a.held {
		due = min(due, h.deadline)
	}
	for _, h := range a.lost {
		due = min(due, h.deadline)
	}
	for _, s := range a.queue {
		due = min(due, s.at.Add(s.wait))
	}
	return due
}

// vacant returns a subject on which no answer is expected.
func (a *audit) vacant() string {
	for n := 0; ; n++ {
		if subject := inboxes[n]; isFrom(subject, a.open) < 0 {
			return subject
		}
	}
}

var inboxes = []string{"q0", "q1", "q2", "q3", "q4", "q5", "q6", "q7", "q8"}

// Fork implements exhaustive.Situation.
func (n *situation) Fork() exhaustive.Situation {
	fork := *n
	var states []*lease.State
	states, fork.past, fork.sessions = lease.Fork([]*lease.State{n.state}, n.past, n.sessions)
	fork.state, fork.audit = states[0], n.audit.fork()
	return &fork
}

// Say implements exhaustive.Situation. The lines are those of a script.
func (n *situation) Say(move int) string { return n.dated(move).String() }

// dated returns a move as the step that it is now.
func (n *situation) dated(move int) step {
	m := n.choices[move]
	s := *m.step
	s.at, s.token = m.at, m.token
	if s.who != "node" {
		s.from = n.audit.vacant()
	}
	return s
}

// Take implements exhaustive.Situation.
func (n *situation) Take(move int, reached map[string]int) error {
	s := n.dated(move)
	o := n.state.Step(s.time(), s.event())
	n.isIdle = s.at == n.at && len(o.Changes) == 0
	n.at, n.choices, n.numbers, n.audit.seen = s.at, nil, nil, reached
	if s.changesOwner() {
		n.beginTerm(s.next(n.state.Image()))
	}
	n.audit.check(&s, o, n.state)
	return exhaustive.Wrong(n.audit.faults)
}

// Resume implements exhaustive.Situation.
func (n *situation) Resume(before exhaustive.Situation) bool {
	b := before.(*situation)
	n.choices, n.numbers = b.choices, b.numbers
	return n.isIdle
}

// Key implements exhaustive.Situation.
func (n *situation) Key(key []byte) []byte {
	key, n.numbers = lease.Key(key, []*lease.State{n.state}, n.at, n.world.names)
	return key
}

// fork returns a copy that changes by itself.
func (a *audit) fork() *audit {
	fork := *a
	fork.image = a.image.Clone()
	fork.held, fork.lost, fork.slots = slices.Clone(a.held), slices.Clone(a.lost), slices.Clone(a.slots)
	fork.queue, fork.open = slices.Clone(a.queue), slices.Clone(a.open)
	fork.grants, fork.over = slices.Clip(a.grants), slices.Clip(a.over)
	return &fork
}

var worlds = []*world{
	{
		name: "mutex", owners: []string{"ann", "bob", "cid"}, depth: 5, later: 50 * ms, floor: 7,
		moves: []string{
			"owner acquire ttl=100ms", "owner acquire ttl=150ms wait=100ms room=2",
			"owner acquire ttl=100ms wait=150ms id=x room=2", "owner acquire ttl=100ms id=y batched",
			"owner acquire ttl=150ms reentrant", "owner acquire ttl=50ms id=y reentrant",
			"owner release", "owner release aim=own", "owner release aim=other", "owner release id=x",
			"owner release id=y", "owner extend ttl=150ms", "owner extend ttl=50ms aim=own",
			"op break aim=held why=stuck", "op break aim=last why=stuck", "op get waiters",
			"node undeliverable aim=last", "node takeover", "node surrender", "node dismiss why=moving",
		},
		rare: []string{"undeliverable makes ACQUIRED", "acquire CANCELLED", "acquire EXPIRED", "surrendered"},
	},
	{
		name: "sharing", owners: []string{"ann", "bob", "cid"}, depth: 4, later: 50 * ms,
		moves: []string{
			"owner acquire ttl=100ms limit=2", "owner acquire ttl=150ms wait=100ms limit=3 permits=2 room=2",
			"owner acquire ttl=100ms wait=150ms id=x room=2", "owner acquire ttl=100ms limit=all id=y",
			"owner acquire ttl=150ms limit=2 reentrant", "owner release aim=own", "owner release aim=former",
			"owner release id=x", "owner release id=y", "owner extend ttl=150ms aim=own limit=2",
			"owner extend ttl=50ms aim=own limit=all", "owner extend ttl=100ms aim=former limit=all",
			"op break aim=held why=stuck", "node undeliverable aim=held", "node takeover", "node surrender",
		},
		rare: []string{"granted beside others", "extend makes ACQUIRED", "extend INVALID"},
	},
	{
		name: "delays", owners: []string{"ann", "bob"}, depth: 5, later: 50 * ms,
		moves: []string{
			"owner acquire ttl=100ms delay=50ms", "owner acquire ttl=50ms confirmed id=x",
			"owner acquire ttl=50ms delay=100ms limit=2", "owner acquire ttl=100ms wait=150ms room=2",
			"owner acquire ttl=100ms wait=100ms id=y limit=2 delay=100ms room=2", "owner release aim=own",
			"owner release id=x", "owner extend ttl=100ms aim=own", "owner extend ttl=100ms aim=own limit=3",
			"op break aim=held why=stuck", "op break aim=lost why=stuck", "op confirm aim=lost why=stopped",
			"op confirm aim=last", "op get", "node takeover", "node surrender",
		},
		rare: []string{"tick makes CONFIRMED", "confirm makes ACQUIRED", "acquire makes CONFIRMED",
			"taken back beside others"},
	},
	{
		name: "secrets", owners: []string{"ann", "bob"}, depth: 5,
		moves: []string{
			"owner acquire ttl=100ms id=x hash=a secret=a", "owner acquire ttl=100ms id=x",
			"owner acquire ttl=100ms id=x secret=a", "owner acquire ttl=100ms wait=150ms id=x hash=b secret=b room=2",
			"owner acquire ttl=100ms wait=150ms id=x hash=a room=2",
			"owner acquire ttl=150ms reentrant hash=a secret=a",
			"owner acquire ttl=100ms limit=2 hash=a secret=a id=y", "owner release", "owner release secret=a",
			"owner release aim=own secret=b", "owner release id=x", "owner release id=x secret=a",
			"owner extend ttl=100ms", "owner extend ttl=100ms secret=a aim=own", "owner set secret=a meta=one",
			"owner set meta=one", "op break aim=held why=stuck", "node takeover",
		},
		rare: []string{"acquire NOT_OWNER", "release NOT_OWNER", "set NOT_OWNER"},
	},
	{
		name: "orders", owners: []string{"ann", "bob"}, depth: 6, later: 50 * ms,
		moves: []string{
			"owner acquire ttl=100ms", "owner acquire ttl=100ms limit=2", "owner release aim=own",
			"owner extend ttl=150ms order=1", "owner extend ttl=50ms order=2", "owner extend ttl=100ms order=3 limit=3",
			"owner extend ttl=100ms limit=3",
			"owner extend ttl=50ms", "owner set meta=one order=1", "owner set meta=two order=2", "owner set meta=one",
			"owner set aim=own order=3", "node takeover",
		},
		rare: []string{"late extend", "late set"},
	},
	{
		name: "blocks", owners: []string{"ann", "bob"}, depth: 5, floor: messages.MaxToken - 5,
		moves: []string{
			"owner acquire ttl=100ms", "owner acquire ttl=100ms tokens=2 id=x",
			"owner acquire ttl=100ms tokens=3 batched", "owner acquire ttl=100ms wait=150ms tokens=3 room=2", "owner acquire ttl=150ms reentrant",
			"owner acquire ttl=100ms limit=2 wait=150ms room=2", "owner release aim=own", "owner release aim=end",
			"owner release id=x", "owner extend ttl=100ms tokens=3", "owner extend ttl=150ms tokens=4 order=1",
			"owner extend ttl=50ms order=2", "owner extend ttl=100ms limit=3", "owner set aim=end meta=one",
			"op break aim=held-end why=stuck", "op break aim=last why=stuck", "op get", "node undeliverable aim=last",
			"node takeover",
		},
		rare: []string{"a block grows", "a block grows late", "acquire EXHAUSTED", "extend EXHAUSTED",
			"extend makes ACQUIRED"},
	},
	{
		name: "holds", owners: []string{"ann", "bob"}, depth: 5, later: 50 * ms,
		moves: []string{
			"owner acquire ttl=100ms hold=150ms id=x", "owner acquire ttl=50ms hold=100ms delay=150ms tokens=2",
			"owner acquire ttl=50ms hold=150ms delay=50ms", "owner acquire ttl=50ms hold=150ms confirmed tokens=2",
			"owner acquire ttl=100ms hold=100ms wait=150ms room=2", "owner acquire ttl=100ms limit=2 wait=150ms room=2",
			"owner release aim=own", "owner release id=x", "owner extend ttl=100ms aim=own",
			"owner extend ttl=100ms limit=3", "op break aim=held why=stuck", "op confirm aim=lost why=stopped",
			"op confirm aim=lost-end", "op confirm aim=last", "op get", "node undeliverable aim=last", "node restart",
			"node surrender",
		},
		rare: []string{"a confirmed loss rests", "a hold is over", "acquire makes CONFIRMED", "confirm makes ACQUIRED",
			"extend INVALID", "tick makes CONFIRMED"},
	},
	{
		name: "the last tokens", owners: []string{"ann", "bob"}, depth: 7, floor: messages.MaxToken - 3,
		moves: []string{
			"owner acquire ttl=100ms", "owner acquire ttl=100ms wait=150ms room=2 id=x", "owner release",
			"owner acquire ttl=100ms limit=2 delay=50ms", "owner extend ttl=100ms limit=3",
			"op break aim=held why=stuck", "op get", "node takeover", "owner release aim=before",
		},
		rare: []string{"acquire EXHAUSTED", "extend EXHAUSTED"},
	},
}
