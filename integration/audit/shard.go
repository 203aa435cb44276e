package audit

import (
	"fmt"
	"time"

	"github.com/holdfast-io/holdfast/messages"
	"github.com/holdfast-io/holdfast/messages/journal"
)

// Undelivered is the reason of a release by the service itself: a grant out of the queue found no client.
const Undelivered = "the client was gone"

// Violation is a record that cannot follow those before it.
type Violation struct {
	Shard    uint32
	Position uint64
	Record   string // as [journal.Record.Describe] names it
	Resource string // empty: the record concerns no single resource
	Text     string
}

// String is the violation on one line.
func (v Violation) String() string {
	resource := ""
	if v.Resource != "" {
		resource = messages.QuoteResource(v.Resource) + ": "
	}
	return fmt.Sprintf("shard %d, position %d, %s: %s%s", v.Shard, v.Position, v.Record, resource, v.Text)
}

// Shard checks the journal of one shard. It is not safe for concurrent use.
type Shard struct {
	Totals
	// Remember is for how long owners remember free resources at least, by the clock that stamps the commits, if each
	// commit has all that was decided before it; 0: that is not known.
	Remember time.Duration

	number  uint32
	partial bool
	// copies: the journal has begun with a copy of those of the generation before, which ended at base, and whose copier
	// opened it first.
	copies   bool
	base     journal.Tail
	position uint64
	// first is the position of the first record that was read.
	first     uint64
	tail      journal.Tail
	published uint64
	floor     uint64
	// handOver is what the last commit hands over, nil if nothing.
	handOver *journal.HandOver
	// writer opened the present epoch, nil if that is not known. openers are all writers that opened one.
	writer    *journal.Writer
	openers   map[uint64]bool // by incarnation
	resources map[string]*resource
	// committedAt is the time of the last commit.
	committedAt int64
	// forgot are the resources that pages have left out since the last commit.
	forgot []string

	reading Violation // what all violations of the present record have in common
	found   []Violation
}

// New returns a checker of a journal that is read from its first commit to its last. Pages may be missing.
func New(shard uint32) *Shard {
	return &Shard{number: shard, openers: make(map[uint64]bool), resources: make(map[string]*resource)}
}

// NewPartial returns a checker of a journal whose beginning may be gone, and in which compactions may remove
// records before they are read. What is missing is counted, and excuses what it may explain.
func NewPartial(shard uint32) *Shard {
	s := New(shard)
	s.partial = true
	return s
}

// Succeed makes the checker that of a journal of the next generation of shards. former have read all journals of the one
// before to their ends, and are not used any more. mine reports which resources are in the shard.
func (s *Shard) Succeed(former []*Shard, mine func(resource string) bool) {
	s.copies = true
	for _, f := range former {
		s.base.Number, s.base.Epoch = max(s.base.Number, f.tail.Number), max(s.base.Epoch, f.tail.Epoch)
		s.position, s.floor = max(s.position, f.position), max(s.floor, f.floor)
		for name, r := range f.resources {
			if mine(name) {
				s.resources[name] = r
			}
		}
	}
}

// Position is where the last record stands that was read.
func (s *Shard) Position() uint64 { return s.position }

// Held returns the leases that are held behind the last record, by resource, the oldest first.
func (s *Shard) Held() map[string][]*journal.Grant {
	held := make(map[string][]*journal.Grant)
	for name, r := range s.resources {
		for _, h := range r.held {
			held[name] = append(held[name], h.Grant)
		}
	}
	return held
}

// Lost returns the lost leases that hold their resources back behind the last record, by resource, the oldest first.
func (s *Shard) Lost() map[string][]*journal.Grant {
	lost := make(map[string][]*journal.Grant)
	for name, r := range s.resources {
		for _, e := range r.ended {
			if e.isLost() {
				lost[name] = append(lost[name], e.Grant)
			}
		}
	}
	return lost
}

// Forgot returns the resources that a page has left out once, or that came when others had been: their tokens do not
// begin with 1.
func (s *Shard) Forgot() (names []string) {
	for name, r := range s.resources {
		if r.forgotten {
			names = append(names, name)
		}
	}
	return names
}

// Token returns the last token of the last persistent lease of a resource, 0 if the journal has none.
func (s *Shard) Token(resource string) uint64 {
	if r := s.resources[resource]; r != nil {
		return last(r.last)
	}
	return 0
}

// Read checks the next record and returns what is wrong with it.
func (s *Shard) Read(position uint64, r *journal.Record) []Violation {
	s.found, s.reading = nil, Violation{Shard: s.number, Position: position, Record: r.Describe()}
	if position <= s.position {
		s.wrong("", "it stands behind position %d", s.position)
	}
	if s.first == 0 {
		s.first = position
	}
	if s.partial && position > s.position+1 {
		s.miss()
	}
	s.position = position
	s.Records++
	if r.GetFormat() < formatOf(r) {
		s.wrong("", "format %d, which has none of what is in it: it needs %d", r.GetFormat(), formatOf(r))
	}
	if p := r.GetPage(); p != nil {
		s.page(p)
	} else {
		s.commit(r.GetCommit())
	}
	return s.found
}

// miss notes that a record was purged or replaced before it was read. It may have been a page that forgets.
func (s *Shard) miss() {
	s.Unseen++
	for _, r := range s.resources {
		r.remembered = false
	}
}

func (s *Shard) wrong(resource, format string, args ...any) {
	v := s.reading
	v.Resource, v.Text = resource, fmt.Sprintf(format, args...)
	s.found = append(s.found, v)
}

func (s *Shard) commit(c *journal.Commit) {
	s.count(c)
	s.written(s.follow(c), c)
	if c.GetPublished() < s.published || c.GetPublished() > c.GetNumber() {
		s.wrong("", "its watermark is commit %d, behind watermark %d", c.GetPublished(), s.published)
	}
	s.published = c.GetPublished()
	s.forgetting(c)
	if c.GetOpened() && !s.copies {
		for _, r := range s.resources {
			r.opened(c, s.handOver)
		}
	}
	s.copies = false
	if s.handOver = c.GetHandOver(); s.handOver != nil {
		for name, r := range s.resources {
			r.handsOver(c, s.of(name))
		}
	}
	for _, m := range c.GetChanges() {
		s.change(m, c)
	}
	for _, m := range c.GetChanges() {
		s.resource(m.Name()).interrupted("the end of the commit", s.of(m.Name()))
		s.resource(m.Name()).decidedAfter = s.committedAt
	}
	s.committedAt = c.GetAtMs()
}

// forgetting checks that what pages have left out has not changed for as long as owners remember it. When a page was
// written is not recorded, but that it was before this commit.
func (s *Shard) forgetting(c *journal.Commit) {
	for _, name := range s.forgot {
		age := time.Duration(c.GetAtMs()-s.resources[name].decidedAfter) * time.Millisecond
		if s.Remember > 0 && age < s.Remember-rememberSlack {
			s.wrong(name, "it was forgotten within %v of its last change; owners remember it for %v", age, s.Remember)
		}
	}
	s.forgot = s.forgot[:0]
}

// of returns what reports a violation of a resource.
func (s *Shard) of(resource string) func(format string, args ...any) {
	return func(format string, args ...any) { s.wrong(resource, format, args...) }
}

// follow checks number and epoch, and returns the commit before: zero if that is not known.
func (s *Shard) follow(c *journal.Commit) (last journal.Tail) {
	opened := uint64(0)
	if c.GetOpened() {
		opened = 1
	}
	switch begins := s.tail == (journal.Tail{}); {
	case s.copies:
		if c.GetNumber() <= s.base.Number || c.GetEpoch() <= s.base.Epoch {
			s.wrong("", "the journals before end at commit %d of epoch %d", s.base.Number, s.base.Epoch)
		}
	case begins && !s.partial && c.GetNumber() != 1:
		s.wrong("", "it follows commit 0")
	case !begins && s.partial && c.GetNumber() > s.tail.Number+1:
		s.Gaps++
		for _, r := range s.resources {
			r.known = false
		}
		s.writer = nil
		if c.GetEpoch() < s.tail.Epoch+opened {
			s.wrong("", "it follows epoch %d", s.tail.Epoch)
		}
		s.tail = journal.Tail{Number: c.GetNumber() - 1, Epoch: c.GetEpoch() - opened}
	}
	last = s.tail
	if err := s.tail.Follow(c); err != nil {
		s.wrong("", "%v", err)
	}
	s.tail = journal.Tail{Number: c.GetNumber(), Epoch: c.GetEpoch()}
	return last
}

// written checks who wrote the commit. The product reads journals with [journal.Tail] too, so this does not.
func (s *Shard) written(last journal.Tail, c *journal.Commit) {
	by, begins := c.GetWriter(), (s.partial || s.copies) && last == (journal.Tail{})
	switch {
	case c.GetOpened():
		if s.openers[by.GetIncarnation()] || c.GetEpoch() != last.Epoch+1 && !begins {
			s.wrong("", "%v opens it behind epoch %d of %v", by, last.Epoch, s.writer)
		}
		s.openers[by.GetIncarnation()], s.writer = true, by
	case s.partial && s.writer == nil:
		s.writer = by
	case c.GetEpoch() != last.Epoch || by.GetNode() != s.writer.GetNode() ||
		by.GetIncarnation() != s.writer.GetIncarnation():
		s.wrong("", "written by %v in epoch %d of %v", by, last.Epoch, s.writer)
	}
}

// resource returns what is known of a resource.
func (s *Shard) resource(name string) *resource {
	r, ok := s.resources[name]
	if !ok {
		whole := !s.partial || s.first == 1 && s.Gaps == 0
		r = &resource{known: whole, remembered: !s.partial && s.floor == 0, forgotten: s.floor > 0}
		s.resources[name] = r
	}
	return r
}

func (s *Shard) change(m *journal.Change, c *journal.Commit) {
	r, g := s.resource(m.Name()), m.GetGrant()
	wrong := s.of(m.Name())
	if m.GetKind() != messages.Event_ACQUIRED {
		r.interrupted(m.GetKind().String(), wrong)
	}
	switch {
	case g == nil:
		r.reserve(m, wrong)
		s.TopToken = max(s.TopToken, m.GetReserved())
		return
	case g.GetDurability() != messages.Durability_PERSISTENT:
		wrong("an ephemeral lease is recorded: %v", m)
	}
	switch m.GetKind() {
	case messages.Event_ACQUIRED:
		r.acquire(g, c, !s.partial, wrong)
	case messages.Event_CONFIRMED:
		r.confirm(m, c, wrong)
	default:
		r.follow(m, c, wrong)
	}
	s.TopToken = max(s.TopToken, last(g))
}
