package actors

import (
	"fmt"
	"strings"

	"github.com/holdfast-io/holdfast/actors/lease"
	"github.com/holdfast-io/holdfast/messages"
	"github.com/holdfast-io/holdfast/messages/journal"
)

// ledger is the image of a shard's bucket in memory: what is confirmed and nothing else. Replay
// and live work change it by the same code. It belongs to one goroutine.
type ledger struct {
	// position is where the bucket's last record stands.
	position uint64
	// number and epoch are those of the last commit.
	number, epoch uint64
	// first is the number of the oldest commit that was replayed, 0 if none was.
	first uint64
	floor messages.Token
	// held counts the resources that are held, free those that are free and remembered; both from the
	// opening of the shard on.
	held, free int
	// fresh is since when a free resource has to have been used to be read in full, in Unix milliseconds.
	fresh int64
	directory
	// superseded names stored pages whose place others have taken.
	superseded []string
	marks      marks
	// published is the watermark of the last commit: how far its writer knew all events published.
	published uint64
	// told is the number of the last commit that was read and has changes.
	told uint64
	// bytes estimates the changes in all commits that were read.
	bytes int
}

func newLedger(fresh int64) *ledger { return &ledger{directory: newDirectory(), fresh: fresh} }

// image returns what is known of a resource.
func (l *ledger) image(resource string) lease.Image {
	if e, ok := l.page(resource).find(resource); ok {
		return e.Image
	}
	return lease.Image{Floor: l.floor}
}

// read takes over a record at its position, as decided at now.
func (l *ledger) read(position uint64, r *journal.Record, now func(change int) lease.Instant) error {
	var err error
	switch body := r.GetBody().(type) {
	case *journal.Record_Commit:
		err = l.commit(position, body.Commit, now)
	case *journal.Record_Page:
		err = l.load(body.Page)
	default:
		err = fmt.Errorf("%w: it has no body", journal.ErrCorrupt)
	}
	if err != nil {
		return fmt.Errorf("position %d, %s: %w", position, r.Describe(), err)
	}
	l.position = position
	return nil
}

func (l *ledger) commit(position uint64, c *journal.Commit, now func(change int) lease.Instant) error {
	if err := l.follows(c); err != nil {
		return err
	}
	for i, change := range c.GetChanges() {
		if err := l.apply(change, now(i), c.GetAtMs()); err != nil {
			return fmt.Errorf("change %d: %w", i, err)
		}
	}
	l.number, l.epoch, l.published = c.GetNumber(), c.GetEpoch(), max(l.published, c.GetPublished())
	l.bytes += commitWeight(c)
	if len(c.GetChanges()) > 0 {
		l.told = c.GetNumber()
	}
	l.marks.add(mark{number: c.GetNumber(), position: position, bytes: l.bytes})
	return nil
}

// follows checks that the commit is the next one, of a writer that was in its right.
func (l *ledger) follows(c *journal.Commit) error {
	epoch := l.epoch
	if c.GetOpened() {
		epoch++
	}
	switch {
	case l.number == 0:
		l.first = c.GetNumber()
	case c.GetNumber() != l.number+1:
		return fmt.Errorf("%w: it follows commit %d, so something is missing or was written twice", journal.ErrCorrupt, l.number)
	case c.GetEpoch() != epoch:
		return fmt.Errorf("%w: it follows epoch %d, so a deposed writer went on", journal.ErrCorrupt, l.epoch)
	}
	return nil
}

func (l *ledger) apply(c *journal.Change, now lease.Instant, atMillis int64) error {
	resource := c.Name()
	if resource == "" || c.GetGrant().GetToken() == 0 && c.GetReserved() == 0 {
		return fmt.Errorf("%w: it names no resource or no token", journal.ErrCorrupt)
	}
	p := l.page(resource)
	e, known := p.find(resource)
	if known {
		if err := follows(&e.Image, c); err != nil {
			return err
		}
	} else { // or not yet: its page may come later, and stand for this change too
		e = &entry{}
	}
	held, free := p.held, p.free()
	p.change(resource, e, known, func() {
		e.Apply(c, now)
		e.used = atMillis
	})
	l.held, l.free = l.held+p.held-held, l.free+p.free()-free
	p.dirty, p.since = true, min(p.since, l.bytes)
	l.splitHeavy(p)
	return nil
}

// change makes a change to what find returned for the resource, or to an entry that is new.
func (p *page) change(resource string, e *entry, known bool, apply func()) {
	if _, buried := p.tombstones[resource]; buried {
		p.removeTombstone(resource)
	} else if known {
		p.remove(resource, e)
	}
	apply()
	p.add(resource, e)
}

// follows checks that a change is possible where the resource stands.
func follows(i *lease.Image, c *journal.Change) error {
	g := c.GetGrant()
	wrong := func(what string, token uint64) error {
		return fmt.Errorf("%w: %s of %q token %d where token %d stands (%s)", journal.ErrCorrupt,
			what, c.Name(), token, i.Token(), i.State)
	}
	switch {
	case g == nil && (i.Held() || c.GetReserved() <= uint64(i.Token())):
		return wrong("reservation", c.GetReserved())
	case g == nil:
		return nil
	case c.GetKind() == messages.Event_ACQUIRED && (i.Held() || g.GetToken() <= i.Grant.GetToken()):
		return wrong("grant", g.GetToken())
	case c.GetKind() != messages.Event_ACQUIRED && (!i.Held() || g.GetToken() != i.Grant.GetToken()):
		return wrong(c.GetKind().String(), g.GetToken())
	}
	return nil
}

// load lets a page take the place of everything known about its part of the resources.
func (l *ledger) load(stored *journal.Page) error {
	switch depth := stored.GetDepth(); {
	case depth > maxDepth || stored.GetPrefix()>>depth != 0:
		return fmt.Errorf("%w: no page can have prefix %d of depth %d", journal.ErrCorrupt, stored.GetPrefix(), depth)
	case l.number != 0 && (stored.GetNumber() != l.number || stored.GetEpoch() != l.epoch):
		return fmt.Errorf("%w: it was written behind commit %d of epoch %d, but the last one read is commit %d of epoch %d",
			journal.ErrCorrupt, stored.GetNumber(), stored.GetEpoch(), l.number, l.epoch)
	}
	p, split := l.replace(stored.GetPrefix(), stored.GetDepth())
	for _, s := range split {
		l.supersede(s)
	}
	for _, s := range stored.GetEntries() {
		resource := s.Name()
		if !stored.Covers(resource) {
			return fmt.Errorf("%w: resource %q belongs elsewhere", journal.ErrCorrupt, resource)
		}
		e := &entry{used: s.GetUsedMs(), Image: lease.Image{
			Grant: s.GetGrant(), State: s.GetState(), Floor: messages.Token(s.GetReserved()),
			OwnerDigest: s.GetOwnerDigest(),
		}}
		if e.Held() || e.OwnerDigest == 0 && e.used >= l.fresh {
			p.add(resource, e)
		} else {
			p.addTombstone(resource, bury(e))
		}
	}
	p.clean()
	l.floor = max(l.floor, messages.Token(stored.GetFloor()))
	return nil
}

// complete checks, when all has been read, that nothing is missing: either the journal begins with
// the first commit, or there is a page for every resource that an older one may have changed.
func (l *ledger) complete() error {
	if l.first <= 1 {
		return nil
	}
	var missing error
	l.pages(func(p *page) {
		if !p.stored && missing == nil && !l.wasStored(p) {
			missing = fmt.Errorf("%w: page %s is missing, and the journal begins with commit %d only",
				journal.ErrCorrupt, p.name(), l.first)
		}
	})
	return missing
}

// wasStored reports whether a larger page of the bucket covers p, which was split off it.
func (l *ledger) wasStored(p *page) bool {
	for _, name := range l.superseded {
		if strings.HasPrefix(p.name(), name) {
			return true
		}
	}
	return false
}

// restart lets all held leases run their whole TTL from now, and calls held with each.
func (l *ledger) restart(now lease.Instant, held func(resource string, deadline lease.Instant)) {
	l.held, l.free = 0, 0
	l.pages(func(p *page) {
		p.shrink(l.fresh)
		l.held, l.free = l.held+p.held, l.free+p.free()
		for resource, e := range p.entries {
			if e.Held() {
				e.Restart(now)
				held(resource, e.Deadline)
			}
		}
	})
}

// lacking returns how many bytes of changes had been read before the first one that no stored page has:
// where the last complete compaction began, or a little behind that.
func (l *ledger) lacking() int {
	since := l.bytes
	l.pages(func(p *page) { since = min(since, p.since) })
	return since
}

func (l *ledger) splitHeavy(p *page) {
	if p.weight > pageWeight && p.depth < maxDepth {
		l.supersede(p)
		l.split(p)
	}
}

func (l *ledger) supersede(p *page) {
	if p.stored {
		l.superseded = append(l.superseded, p.name())
	}
}

// record is the page as it is to be stored now.
func (l *ledger) record(p *page) *journal.Record {
	stored := &journal.Page{
		Prefix: p.prefix, Depth: p.depth,
		Number: l.number, Epoch: l.epoch, Floor: uint64(l.floor),
		Entries: make([]*journal.Entry, 0, len(p.entries)+len(p.tombstones)),
	}
	for resource, t := range p.tombstones {
		stored.Entries = append(stored.Entries, store(resource, t.entry(resource)))
	}
	for resource, e := range p.entries {
		stored.Entries = append(stored.Entries, store(resource, e))
	}
	return &journal.Record{Format: journal.Format, Body: &journal.Record_Page{Page: stored}}
}

// store is the entry as a page has it.
func store(resource string, e *entry) *journal.Entry {
	s := &journal.Entry{
		Grant: e.Grant, State: e.State, Reserved: uint64(e.Floor), UsedMs: e.used, OwnerDigest: e.OwnerDigest,
	}
	if e.Grant == nil {
		s.Resource = resource
	}
	return s
}
