package ledger_test

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/holdfast-io/holdfast/actors/exhaustive"
	"github.com/holdfast-io/holdfast/actors/lease"
	"github.com/holdfast-io/holdfast/actors/ledger"
	"github.com/holdfast-io/holdfast/messages"
	"github.com/holdfast-io/holdfast/messages/journal"
)

// The shard of a search has one resource, two nodes, and a bucket as JetStream keeps it: an append is stored behind the
// position that it expects to be the last, or not at all. Appends, answers and purges are on their way for any time,
// and answers may be lost.

const (
	searched = "r"
	ttl      = time.Second
)

// shardWorld is what may happen.
type shardWorld struct {
	name string
	// inFlight is how many appends an owner may have on their way: one, see docs/decisions/journal.md.
	inFlight int
	// copies is how many more copies of an append may be on their way.
	copies int
	// shared: leases are shared, and one of them is lost. blocks: leases have a block that grows, and rest.
	shared, blocks bool
	depth          int
	rare           []string
}

// record is never changed. Its text distinguishes it in a key.
type record struct {
	*journal.Record
	text string
}

// stored is a record in the bucket.
type stored struct {
	position uint64
	record   *record
}

// sent is an append on its way to the bucket.
type sent struct {
	node   int
	after  uint64
	record *record
	copies int
}

// answered is the answer to an append on its way to a node: whether it was stored.
type answered struct {
	node   int
	record *record
	stored bool
}

// shardState is the bucket, what is on its way, and the nodes.
type shardState struct {
	world *shardWorld
	last  uint64
	// bucket has what is stored, written everything that ever was, as truth has it.
	bucket []stored
	truth  *truth
	sent   []sent
	answer []answered
	// purges are how far late purges reach.
	purges []uint64
	nodes  [2]node
	moves  []shardMove
}

// truth is what all that was stored says.
type truth struct {
	tail   journal.Tail
	image  lease.Image
	stored []*record
}

// node is a process that may own the shard.
type node struct {
	phase phase
	// way is how its ledger came about, from which it is made again.
	way []step
	// position is how far its ledger has read, as that says.
	position uint64
	// pending are its appends without an answer, the oldest first; open: the first of them is to open the shard.
	pending []*record
	// confirmed is the highest token of the grants that it has confirmed to clients.
	confirmed messages.Token
}

type phase int

const (
	closed phase = iota
	opening
	owning
)

// step is one that a ledger has taken: it has read a record, or begun a checkpoint, or stored its page.
type step struct {
	kind     stepKind
	position uint64
	record   *record
	// limit is how many free resources are remembered.
	limit int
}

type stepKind int

const (
	readRecord stepKind = iota
	readTo
	beginPage
	storePage
)

type shardMove struct {
	verb  string
	node  int
	place int
}

func (m shardMove) String() string { return fmt.Sprintf("n%d %s %d", m.node, m.verb, m.place) }

func (w *shardWorld) begin() exhaustive.Situation { return &shardState{world: w, truth: &truth{}} }

// Moves implements exhaustive.Situation.
func (s *shardState) Moves() int {
	if s.moves != nil {
		return len(s.moves)
	}
	add := func(verb string, node, place int) { s.moves = append(s.moves, shardMove{verb, node, place}) }
	for i := range s.nodes {
		switch n := &s.nodes[i]; n.phase {
		case closed:
			if i == 0 || s.last > 0 { // the first node is the first
				add("open", i, 0)
			}
		default:
			add("crash", i, 0)
			if n.phase == owning && len(n.pending) < s.world.inFlight {
				add("decide", i, 0)
			}
			if n.phase == owning && len(n.pending) == 0 {
				add("checkpoint", i, 1000)
				add("checkpoint", i, 0)
			}
			if len(n.pending) > 0 {
				add("look", i, 0)
			}
		}
	}
	for place, m := range s.sent {
		add("arrive", m.node, place)
		add("arrive, and answer", m.node, place)
		if m.copies > 0 {
			add("arrive, and a copy later", m.node, place)
		}
	}
	for place, a := range s.answer {
		add("answer", a.node, place)
	}
	for place := range s.purges {
		add("purge", 0, place)
	}
	return len(s.moves)
}

// Say implements exhaustive.Situation.
func (s *shardState) Say(move int) string {
	m := s.moves[move]
	switch m.verb {
	case "arrive", "arrive, and answer", "arrive, and a copy later":
		return fmt.Sprintf("%s: %s behind %d", m, s.sent[m.place].record.Describe(), s.sent[m.place].after)
	case "answer":
		return fmt.Sprintf("%s: %s is stored: %v", m, s.answer[m.place].record.Describe(), s.answer[m.place].stored)
	}
	return m.String()
}

// Fork implements exhaustive.Situation.
func (s *shardState) Fork() exhaustive.Situation {
	fork := *s
	fork.bucket, fork.sent, fork.answer = slices.Clone(s.bucket), slices.Clone(s.sent), slices.Clone(s.answer)
	fork.purges = slices.Clone(s.purges)
	t := *s.truth
	t.image, t.stored = s.truth.image.Clone(), slices.Clip(t.stored)
	fork.truth = &t
	for i := range fork.nodes {
		n := &fork.nodes[i]
		n.way, n.pending = slices.Clip(n.way), slices.Clone(n.pending)
	}
	return &fork
}

// Resume implements exhaustive.Situation.
func (s *shardState) Resume(exhaustive.Situation) bool { return false }

// Key implements exhaustive.Situation.
func (s *shardState) Key(key []byte) []byte {
	put := func(numbers ...uint64) {
		for _, n := range numbers {
			key = binary.AppendUvarint(key, n)
		}
	}
	put(s.last, s.truth.tail.Number, s.truth.tail.Epoch, uint64(s.truth.image.Token()),
		uint64(s.truth.image.Leases()))
	put(uint64(len(s.bucket)))
	for _, r := range s.bucket {
		put(r.position)
		key = s.say(key, r.record)
	}
	// What is under way has no order.
	under, end := make([]string, 0, 8), len(key)
	add := func() { under, key = append(under, string(key[end:])), key[:end] }
	for _, m := range s.sent {
		put(0, uint64(m.node), m.after, uint64(m.copies))
		key = s.say(key, m.record)
		add()
	}
	for _, a := range s.answer {
		put(1, uint64(a.node), digit(a.stored))
		key = s.say(key, a.record)
		add()
	}
	for _, p := range s.purges {
		put(2, p)
		add()
	}
	slices.Sort(under)
	put(uint64(len(under)))
	for _, text := range under {
		key = append(key, text...)
	}
	for i := range s.nodes {
		n := &s.nodes[i]
		put(uint64(n.phase), uint64(n.confirmed), n.position, uint64(len(n.pending)))
		for _, r := range n.pending {
			key = s.say(key, r)
		}
		put(uint64(len(n.way)))
		for _, step := range n.way {
			put(uint64(step.kind), step.position, uint64(step.limit))
			key = s.say(key, step.record)
		}
	}
	return key
}

// say appends what distinguishes a record. What a process has yet to be answered is distinguished from the same record
// of an earlier process.
func (s *shardState) say(key []byte, r *record) []byte {
	if r == nil {
		return append(key, 0)
	}
	key = append(append(key, byte(len(r.text))), r.text...)
	for i := range s.nodes {
		if place := slices.Index(s.nodes[i].pending, r); place >= 0 {
			return append(key, byte(1+place))
		}
	}
	return append(key, 0)
}

func digit(is bool) uint64 {
	if is {
		return 1
	}
	return 0
}

func say(r *journal.Record) string {
	if p := r.GetPage(); p != nil {
		return fmt.Sprint("p", p.GetNumber(), ".", p.GetEpoch(), ".", p.GetFloor(), len(p.GetEntries()))
	}
	c := r.GetCommit()
	text := fmt.Sprint("c", c.GetNumber(), ".", c.GetEpoch(), c.GetWriter().GetNode(), c.GetOpened())
	for _, change := range c.GetChanges() {
		text += fmt.Sprint(change.GetKind(), change.GetGrant().GetToken(), "-", change.GetGrant().Last())
	}
	return text
}

// Take implements exhaustive.Situation.
func (s *shardState) Take(move int, reached map[string]int) error {
	m := s.moves[move]
	s.moves = nil
	reached[m.verb]++
	n := &s.nodes[m.node]
	switch m.verb {
	case "open":
		return s.open(m.node, reached)
	case "crash":
		*n = node{}
	case "decide":
		return s.decide(m.node)
	case "checkpoint":
		n.way = append(n.way, step{kind: beginPage, limit: m.place})
		r, err := n.read()
		if err != nil {
			return err
		}
		if r.page == nil { // there is nothing to store
			n.way = n.way[:len(n.way)-1]
			return nil
		}
		s.send(m.node, r.page)
	case "look":
		return s.look(m.node, reached)
	case "arrive":
		m := s.sent[m.place]
		s.sent = slices.DeleteFunc(s.sent, func(x sent) bool { return x == m })
		return s.arrive(m, reached)
	case "arrive, and answer":
		m := s.sent[m.place]
		s.sent = slices.DeleteFunc(s.sent, func(x sent) bool { return x == m })
		if err := s.arrive(m, reached); err != nil {
			return err
		}
		a := s.answer[len(s.answer)-1]
		s.answer = s.answer[:len(s.answer)-1]
		return s.learn(a.node, a.record, a.stored, reached)
	case "arrive, and a copy later":
		s.sent[m.place].copies--
		return s.arrive(s.sent[m.place], reached)
	case "answer":
		a := s.answer[m.place]
		s.answer = slices.Delete(s.answer, m.place, m.place+1)
		return s.learn(a.node, a.record, a.stored, reached)
	case "purge":
		through := s.purges[m.place]
		s.purges = slices.Delete(s.purges, m.place, m.place+1)
		s.purge(through)
	}
	return nil
}

// reading is what a node has made of its way.
type reading struct {
	*ledger.Ledger
	// page is the one that it stores, nil if there is nothing to store; through is how far its last purge reaches.
	page    *journal.Record
	through uint64
}

// read makes the ledger of a node anew, and takes over how far it has read.
func (n *node) read() (reading, error) {
	r := reading{Ledger: ledger.New()}
	var pass *ledger.Checkpoint
	at := func(int) lease.Instant { return 0 }
	for _, step := range n.way {
		switch step.kind {
		case readRecord:
			if err := r.Read(step.position, step.record.Record, at); err != nil {
				return r, err
			}
			if step.record.GetCommit().GetOpened() {
				r.Restart(lease.Time{}, func(string, *lease.Image) {})
			}
		case readTo:
			r.ReadTo(step.position)
		case beginPage:
			pass = r.Checkpoint()
			r.page = pass.Next(ledger.Retention{
				Before: math.MinInt64, Limit: step.limit, InUse: func(string) bool { return false },
			})
		case storePage:
			pass.Stored()
			r.through, _ = pass.Purge(func(m ledger.Mark) bool { return m.Number < r.Head().Number })
		}
	}
	n.position = r.Head().Position
	return r, nil
}

// open reads the bucket, and sends the commit that takes the shard over.
func (s *shardState) open(i int, reached map[string]int) error {
	n := &s.nodes[i]
	for _, r := range s.bucket {
		n.way = append(n.way, step{kind: readRecord, position: r.position, record: r.record})
	}
	n.way = append(n.way, step{kind: readTo, position: s.last})
	l, err := n.read()
	if err != nil {
		return fmt.Errorf("n%d cannot read the journal: %w", i, err)
	}
	if err := l.Complete(); err != nil {
		return fmt.Errorf("n%d: %w", i, err)
	}
	if got, want := l.Image(searched), s.truth.image; got.Counts() != want.Counts() || got.Token() != want.Token() {
		return fmt.Errorf("n%d has read token %d, %+v; stored is %d, %+v", i, got.Token(), got.Counts(), want.Token(),
			want.Counts())
	}
	if l.First() > 1 {
		reached["read from a page"]++
	}
	n.phase = opening
	n.confirmed = 0
	s.send(i, l.TakeOver(&journal.Writer{Node: fmt.Sprint("n", i)}, 0))
	return nil
}

// send sends an append behind all that the node knows of and has sent.
func (s *shardState) send(i int, r *journal.Record) {
	n := &s.nodes[i]
	appended := &record{r, say(r)}
	s.sent = append(s.sent, sent{i, n.position + uint64(len(n.pending)), appended, s.world.copies})
	n.pending = append(n.pending, appended)
}

// decide grants the resource, or ends its lease.
func (s *shardState) decide(i int) error {
	n := &s.nodes[i]
	l, err := n.read()
	if err != nil {
		return err
	}
	image := l.Image(searched)
	tail := l.Next(&journal.Writer{Node: fmt.Sprint("n", i)}, 0)
	for _, r := range n.pending {
		for _, c := range r.GetCommit().GetChanges() {
			image.Apply(c, 0)
		}
		if r.GetCommit() != nil {
			tail.GetCommit().Number++
		}
	}
	tail.GetCommit().Changes = s.world.decide(image)
	s.send(i, tail)
	return nil
}

// decide returns the changes that grant the resource, or end all its leases.
func (w *shardWorld) decide(image lease.Image) (all []*journal.Change) {
	add := func(kind messages.Event_Kind, g *journal.Grant) {
		all = append(all, &journal.Change{Kind: kind, Grant: g})
	}
	first := uint64(image.Token()) + 1
	grant := func(slot uint32) *journal.Grant {
		g := &journal.Grant{Resource: searched, Owner: "o", Token: first + uint64(slot), TtlMs: uint32(ttl.Milliseconds())}
		if w.shared {
			g.Limit, g.Slots, g.Phase, g.Confirm = 3, []uint32{slot}, first, slot == 0
		}
		return g
	}
	switch {
	case !image.IsFree():
		for l := range image.Holdings() {
			add(messages.Event_RELEASED, l.Grant)
		}
		if w.blocks && image.Held() {
			all[0].RestingMs = 700
		}
		for l := range image.Ended() {
			add(messages.Event_CONFIRMED, l.Grant)
		}
	case w.shared:
		for slot := range uint32(3) {
			add(messages.Event_ACQUIRED, grant(slot))
		}
		add(messages.Event_BROKEN, all[0].GetGrant())
	case w.blocks:
		block := grant(0)
		block.Tokens, block.MinHoldMs = 2, 900
		add(messages.Event_ACQUIRED, block)
		block = grant(0)
		block.Tokens, block.MinHoldMs = 3, 900
		add(messages.Event_EXTENDED, block)
	default:
		add(messages.Event_ACQUIRED, grant(0))
	}
	return all
}

// arrive stores an append, or not.
func (s *shardState) arrive(m sent, reached map[string]int) error {
	if m.after != s.last {
		s.answer = append(s.answer, answered{m.node, m.record, false})
		return nil
	}
	s.last++
	s.bucket = append(s.bucket, stored{s.last, m.record})
	if page := m.record.GetPage(); page != nil { // it replaces the one of its name
		s.bucket = slices.DeleteFunc(s.bucket, func(r stored) bool {
			return r.record.GetPage() != nil && r.position < s.last && r.record.GetPage().Name() == page.Name()
		})
	}
	if n := &s.nodes[m.node]; !slices.Contains(n.pending, m.record) {
		reached["stored after its writer was gone"]++
	}
	s.answer = append(s.answer, answered{m.node, m.record, true})
	return s.truth.add(m.record)
}

// add takes in a record that is stored.
func (t *truth) add(r *record) error {
	t.stored = append(t.stored, r)
	if page := r.GetPage(); page != nil {
		if err := t.tail.Check(page); err != nil {
			return fmt.Errorf("stored is %s: %w", r.Describe(), err)
		}
		return nil
	}
	if err := t.tail.Follow(r.GetCommit()); err != nil {
		return fmt.Errorf("stored is %s: %w", r.Describe(), err)
	}
	for _, c := range r.GetCommit().GetChanges() {
		isGrant := c.GetKind() == messages.Event_ACQUIRED
		if isGrant && (!t.image.Admits(c.GetGrant()) || c.GetGrant().GetToken() <= uint64(t.image.Token())) {
			return fmt.Errorf("token %d is granted behind %d, held %v", c.GetGrant().GetToken(), t.image.Token(),
				t.image.Held())
		}
		t.image.Apply(c, 0)
	}
	return nil
}

// look asks the bucket what became of the oldest append without an answer. If nothing is at its position, it is sent
// again.
func (s *shardState) look(i int, reached map[string]int) error {
	n := &s.nodes[i]
	r := n.pending[0]
	after := uint64(math.MaxUint64)
	for _, m := range s.sent {
		if m.record == r {
			after = m.after
		}
	}
	at := slices.IndexFunc(s.bucket, func(x stored) bool { return x.record == r })
	switch {
	case at >= 0:
		reached["found"]++
		return s.learn(i, r, true, reached)
	case slices.Contains(s.truth.stored, r): // it was purged or replaced: the outcome is unknown
		*n = node{}
	case after == math.MaxUint64 || after != s.last: // something else is there, or no copy is on its way any more
		*n = node{}
	}
	return nil
}

// learn lets a node know what became of an append.
func (s *shardState) learn(i int, r *record, isStored bool, reached map[string]int) error {
	n := &s.nodes[i]
	place := slices.Index(n.pending, r)
	switch {
	case place < 0: // an answer to a former process, or the second one
		return nil
	case !isStored:
		reached["deposed"]++
		*n = node{}
		return nil
	case place > 0: // an answer overtook another one, which says that that one is stored too
		return nil
	}
	position := slices.Index(s.truth.stored, r) + 1
	n.pending = slices.Delete(n.pending, 0, 1)
	if r.GetPage() != nil {
		return s.pageStored(i, uint64(position))
	}
	n.phase = owning
	n.way = append(n.way, step{kind: readRecord, position: uint64(position), record: r})
	l, err := n.read()
	if err != nil {
		return fmt.Errorf("n%d cannot apply its own commit: %w", i, err)
	}
	if image := l.Image(searched); image.Held() && !image.HeldBack() && image.Soonest() != lease.Instant(ttl) {
		return fmt.Errorf("n%d ends a lease of %v at %v", i, ttl, image.Soonest())
	}
	for _, c := range r.GetCommit().GetChanges() {
		token := messages.Token(c.GetGrant().GetToken())
		if c.GetKind() == messages.Event_ACQUIRED && token <= n.confirmed {
			return fmt.Errorf("n%d confirms token %d after %d", i, token, n.confirmed)
		}
		n.confirmed = max(n.confirmed, c.GetGrant().Last())
	}
	return nil
}

// pageStored ends a checkpoint, and lets a purge be on its way.
func (s *shardState) pageStored(i int, position uint64) error {
	n := &s.nodes[i]
	n.way = append(n.way, step{kind: storePage, position: position})
	r, err := n.read()
	if err == nil && n.position != position {
		err = fmt.Errorf("n%d has stored a page at position %d, and its ledger is at %d", i, position, n.position)
	}
	if err == nil && r.through > 0 {
		s.purges = append(s.purges, r.through)
	}
	return err
}

// purge removes commits as JetStream does, but for the newest one.
func (s *shardState) purge(through uint64) {
	newest := uint64(0)
	for _, r := range s.bucket {
		if r.record.GetCommit() != nil {
			newest = r.position
		}
	}
	s.bucket = slices.DeleteFunc(s.bucket, func(r stored) bool {
		return r.record.GetCommit() != nil && r.position <= through && r.position != newest
	})
}

var shardWorlds = []*shardWorld{
	{name: "one append in flight", inFlight: 1, copies: 1, depth: 10,
		rare: []string{"deposed", "found", "read from a page"}},
	{name: "leases that are shared and lost", inFlight: 1, shared: true, depth: 9,
		rare: []string{"read from a page"}},
	{name: "blocks that grow and rest", inFlight: 1, blocks: true, depth: 10, rare: []string{"read from a page"}},
}

func TestSearch(t *testing.T) {
	for _, w := range shardWorlds {
		t.Run(w.name, func(t *testing.T) {
			exhaustive.Sound(t, w.begin, 6)
			exhaustive.Run(t, w.begin, w.depth, w.rare...)
		})
	}
}

// Two appends in flight do not fence: the second one may be stored behind the commit that deposed its writer. The
// search finds it, as docs/decisions/journal.md did by trying.
func TestSearchFindsStrays(t *testing.T) {
	w := &shardWorld{inFlight: 2, copies: 0, depth: 12}
	s := exhaustive.Search{Begin: w.begin, Depth: w.depth}
	found, err := s.Run()
	t.Log(found, err)
	if !errors.Is(err, journal.ErrCorrupt) {
		t.Errorf("got %v, want a commit that a deposed writer wrote", err)
	}
}
