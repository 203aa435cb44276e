package ledger

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/holdfast-io/holdfast/actors/lease"
	"github.com/holdfast-io/holdfast/messages"
	"github.com/holdfast-io/holdfast/messages/journal"
)

// Ledger is the image of a shard's bucket in memory: what is confirmed and nothing else.
type Ledger struct {
	// position is where the bucket's last record stands, tail is its last commit.
	position uint64
	tail     journal.Tail
	// first is the number of the oldest commit that was replayed, 0 if none was.
	first uint64
	// floor is the low-water mark: a resource that is not remembered has had no token above it.
	floor messages.Token
	// held counts the leases that are held or hold their resource back, free the resources that are free and
	// remembered; both are valid from Restart on.
	held, free int
	// onHeld gets the changes of held; nil: nobody does.
	onHeld func(resource string, more int)
	// latest is the latest use of a resource that was read, in Unix milliseconds. began is when the owner began to
	// decide, with a wall clock that is not before it; zero until then.
	latest int64
	began  lease.Time
	pages  directory
	// obsolete names stored pages that other pages have replaced.
	obsolete []string
	marks    marks
	// published is the watermark that the last commit records.
	published uint64
	// writer is the node that wrote the last commit.
	writer string
	// handOver is what the last commit hands over, inherited what the one before it did if the last one took the shard
	// over; nil: nothing.
	handOver, inherited *journal.HandOver
	// closed is what the last commit closes the journal for; nil: it does not.
	closed *journal.Closed
	// changed is the number of the last commit that has changes.
	changed uint64
	// bytes estimates the changes in all commits that were read.
	bytes int
	// spare is the memory of the last stage, for the next one; nil: none.
	spare *Staged
}

// New returns a ledger that has read nothing.
func New() *Ledger { return &Ledger{pages: newDirectory()} }

// Head says how far a ledger has read.
type Head struct {
	// Position is where the bucket's last record stands: the next one is appended behind it.
	Position uint64
	// Number and Epoch are those of the last commit, 0 if none was read.
	Number, Epoch uint64
	// Writer is the node that wrote the last commit; empty if none was read.
	Writer string
	// Published is the watermark that the journal records: every event up to the commit of this number
	// has been published, or is not owed.
	Published uint64
	// Changed is the number of the last commit with changes.
	Changed uint64
	// Bytes estimates the size of all changes that were read.
	Bytes int
}

// Head returns how far the ledger has read.
func (l *Ledger) Head() Head {
	return Head{
		Position: l.position, Number: l.tail.Number, Epoch: l.tail.Epoch, Writer: l.writer,
		Published: l.published, Changed: l.changed, Bytes: l.bytes,
	}
}

// Closed returns which generation of shards the last commit has closed the journal for; nil: it is open.
func (l *Ledger) Closed() *journal.Closed { return l.closed }

// First returns the number of the oldest commit that was read, 0 if none was.
func (l *Ledger) First() uint64 { return l.first }

// Held returns how many persistent leases are held now, or hold their resource back.
func (l *Ledger) Held() int { return l.held }

// OnHeld has changed called with each resource of which there are more of the leases that [Ledger.Held] counts, or
// fewer if the number is negative. It is called before [Ledger.Restart], which counts from 0.
func (l *Ledger) OnHeld(changed func(resource string, more int)) { l.onHeld = changed }

// addHeld counts leases of a resource, fewer if n is negative.
func (l *Ledger) addHeld(resource string, n int) {
	l.held += n
	if n != 0 && l.onHeld != nil {
		l.onHeld(resource, n)
	}
}

// Free returns how many free resources are remembered.
func (l *Ledger) Free() int { return l.free }

// Image returns a copy of what is known of a resource.
func (l *Ledger) Image(resource string) lease.Image {
	if e, ok := l.pages.page(resource).find(resource); ok {
		return e.Clone()
	}
	return lease.Image{Floor: l.floor}
}

// Next returns the commit that follows the last one, without changes.
func (l *Ledger) Next(writer *journal.Writer, unixMillis int64) *journal.Record {
	r := &journal.Record{Body: &journal.Record_Commit{
		Commit: &journal.Commit{
			Epoch: l.tail.Epoch, Number: l.tail.Number + 1, Writer: writer, AtMs: unixMillis, Published: l.published,
		},
	}}
	r.SetFormat()
	return r
}

// TakeOver returns the commit with which the writer begins the next epoch.
func (l *Ledger) TakeOver(writer *journal.Writer, unixMillis int64) *journal.Record {
	r := l.Next(writer, unixMillis)
	c := r.GetCommit()
	c.Opened = true
	c.Epoch++ // mutant: EpochNotRaised
	return r
}

// Read applies the record at its position, which must be the next one. decided returns when a change of
// a commit was decided, by its index. After an error, which is [journal.ErrCorrupt], the ledger may have
// applied a part of the record and must not be used.
func (l *Ledger) Read(position uint64, r *journal.Record, decided func(change int) lease.Instant) error {
	var err error
	switch body := r.GetBody().(type) {
	case *journal.Record_Commit:
		var s *Staged
		if s, err = l.Stage(body.Commit, decided); err == nil {
			l.Apply(position, s)
		}
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

// ReadTo notes that the journal has been read up to the position, where there may be no record any more.
func (l *Ledger) ReadTo(position uint64) { l.position = max(l.position, position) }

// Complete checks, after everything has been read, that nothing is missing: either the journal begins with
// the first commit, or a stored page covers every resource that an older commit may have changed. A journal
// that was ever written to has a commit: the first record is one, and the newest one is never purged.
func (l *Ledger) Complete() error {
	if l.first == 0 && l.position > 0 {
		return fmt.Errorf("%w: there is no commit up to position %d, and the newest one is never purged",
			journal.ErrCorrupt, l.position)
	}
	if l.first <= 1 {
		return nil
	}
	var missing error
	l.pages.each(func(p *page) {
		if !p.stored && missing == nil && !l.wasStored(p) {
			missing = fmt.Errorf("%w: page %s is missing, and the journal begins with commit %d only",
				journal.ErrCorrupt, p.name(), l.first)
		}
	})
	return missing
}

// wasStored reports whether the bucket has a larger page that p was split from.
func (l *Ledger) wasStored(p *page) bool {
	return slices.ContainsFunc(l.obsolete, func(name string) bool { return strings.HasPrefix(p.name(), name) })
}

// Restart gives every held lease and every delay what is left of it in [Ledger.Inherited] from now, and its whole time
// if nothing is known of it, since a new owner cannot know how much of it has passed. It calls taken with each resource
// that is held or held back and its image, which may not be kept.
//
// What was recorded before counts as used now: the wall clocks of its writers are not compared with this one.
func (l *Ledger) Restart(now lease.Time, taken func(resource string, image *lease.Image)) {
	l.began = lease.Time{Instant: now.Instant, UnixMillis: max(now.UnixMillis, l.latest)}
	l.held, l.free = 0, 0
	l.pages.each(func(p *page) {
		l.free += p.free()
		for resource, e := range p.entries {
			if !e.IsFree() {
				l.addHeld(resource, e.Leases())
				e.Restart(now.Instant, l.inherited.GetLeftMs()) // mutant: LeasesEndWithTheirOwner
				taken(resource, &e.Image)
			}
		}
	})
}

// SetEphemeral notes a resource's ephemeral leases, of which there may be none. They are in memory only.
func (l *Ledger) SetEphemeral(resource string, held []lease.Lease) {
	l.pages.page(resource).setEphemeral(resource, held)
}

// Ephemeral returns a resource's ephemeral leases.
func (l *Ledger) Ephemeral(resource string) []lease.Lease {
	return l.pages.page(resource).ephemeral[resource]
}

// Owed returns where publishing has to go on: all events up to the commit of the number have been published
// or are not owed, and the other commits stand behind the position.
func (l *Ledger) Owed() (position, number uint64) {
	if l.published < l.changed { // mutant: EventsOwedForgotten
		return l.marks.behind(l.published), l.published
	}
	return l.position, l.tail.Number
}

// follows checks that a change is possible in the resource's present state.
func follows(i *lease.Image, c *journal.Change) error {
	g, last := c.GetGrant(), i.Last()
	wrong := func(what string, token uint64) error {
		return fmt.Errorf("%w: %s of %s token %d where token %d stands (%s)", journal.ErrCorrupt,
			what, messages.QuoteResource(c.Name()), token, i.Token(), last.How)
	}
	before, stands := i.Find(messages.Token(g.GetToken()))
	if c.GetKind() == messages.Event_CONFIRMED {
		before, stands = i.FindEnded(messages.Token(g.GetToken()))
	}
	switch {
	case g == nil && (!i.Fits(math.MaxUint32, 1) || c.GetReserved() <= uint64(i.Token())):
		return wrong("reservation", c.GetReserved())
	case g == nil:
		return nil
	// mutant: TokenReused, GrantWhileHeld, DowngradeKeepsItsToken
	case c.GetKind() == messages.Event_ACQUIRED && (!i.Admits(g) || messages.Token(g.GetToken()) <= last.Grant.Last()):
		return wrong("grant", g.GetToken())
	case c.GetKind() != messages.Event_ACQUIRED && (!stands || !continues(i, before.Grant, g)):
		return wrong(c.GetKind().String(), g.GetToken())
	}
	return nil
}

// continues reports whether a lease may become g: it keeps its token and all others of a block, and gets more only if
// none of these may have been issued.
func continues(i *lease.Image, before, g *journal.Grant) bool {
	isSame := g.GetToken() == before.GetToken() && g.Last() >= before.Last()
	return isSame && (g.Last() == before.Last() || i.Token() == before.Last()) // mutant: GrowthIntoIssuedTokens
}

// load puts a stored page in the place of everything known about its part of the resources.
func (l *Ledger) load(stored *journal.Page) error {
	if depth := stored.GetDepth(); depth > maxDepth || stored.GetPrefix()>>depth != 0 {
		return fmt.Errorf("%w: no page can have prefix %d of depth %d", journal.ErrCorrupt, stored.GetPrefix(), depth)
	}
	if err := l.tail.Check(stored); err != nil {
		return err
	}
	p, split := l.pages.replace(stored.GetPrefix(), stored.GetDepth())
	for _, s := range split {
		l.replaced(s)
	}
	if err := p.load(stored); err != nil {
		return err
	}
	for _, e := range stored.GetEntries() {
		l.latest = max(l.latest, e.GetUsedMs())
	}
	l.floor = max(l.floor, messages.Token(stored.GetFloor()))
	return nil
}

func (l *Ledger) splitHeavy(p *page) {
	if p.weight > pageWeight && p.depth < maxDepth {
		l.replaced(p)
		l.pages.split(p)
	}
}

// replaced notes that the bucket has a page that is not in use any more.
func (l *Ledger) replaced(p *page) {
	if p.stored {
		l.obsolete = append(l.obsolete, p.name())
	}
}
