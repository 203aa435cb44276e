package audit_test

import (
	"strings"
	"testing"
	"time"

	"github.com/holdfast-io/holdfast/integration/audit"
	"github.com/holdfast-io/holdfast/messages"
	"github.com/holdfast-io/holdfast/messages/journal"
)

// book writes a journal of one shard. What a commit leaves out is that of the next commit in order.
type book struct {
	records       []*journal.Record
	number, epoch uint64
	atMs          int64
	// remember is for how long owners remember free resources; 0: that is not checked.
	remember time.Duration
}

func newBook() *book { return new(book).opened() }

func (b *book) opened() *book {
	b.epoch++
	return b.put(&journal.Commit{Opened: true})
}

func (b *book) put(c *journal.Commit) *book {
	b.number++
	b.atMs += 100_000 // any lease has run out meanwhile
	if c.GetNumber() == 0 {
		c.Number = b.number
	}
	if c.GetAtMs() == 0 {
		c.AtMs = b.atMs
	}
	if c.GetEpoch() == 0 {
		c.Epoch = b.epoch
	}
	if c.GetWriter() == nil {
		c.Writer = &journal.Writer{Node: "n1", Incarnation: c.GetEpoch()}
	}
	return b.add(&journal.Record{Format: journal.Format, Body: &journal.Record_Commit{Commit: c}})
}

func (b *book) add(r *journal.Record) *book {
	b.records = append(b.records, r)
	return b
}

const (
	acquired = messages.Event_ACQUIRED
	extended = messages.Event_EXTENDED
	released = messages.Event_RELEASED
	expired  = messages.Event_EXPIRED
	updated  = messages.Event_UPDATED
)

// lease is of a resource that has a request for each owner.
func lease(owner string, token uint64) *journal.Grant {
	return &journal.Grant{Resource: "r", Owner: owner, Token: token, TtlMs: 1000, RequestId: owner}
}

func (b *book) change(kind messages.Event_Kind, owner string, token uint64) *book {
	return b.put(&journal.Commit{Changes: []*journal.Change{{Kind: kind, Grant: lease(owner, token)}}})
}

// lived is a lease from its grant to its release.
func (b *book) lived(owner string, token uint64) *book {
	return b.change(acquired, owner, token).change(released, owner, token)
}

// at is a change of token 1 of a, at a time by the owner's clock.
func (b *book) at(unixMillis int64, kind messages.Event_Kind) *book {
	g := lease("a", 1)
	g.AcquiredAtMs = unixMillis
	return b.put(&journal.Commit{AtMs: unixMillis, Changes: []*journal.Change{{Kind: kind, Grant: g}}})
}

// lasting is the same of a lease of half a minute.
func (b *book) lasting(unixMillis int64, kind messages.Event_Kind) *book {
	b.at(unixMillis, kind)
	b.records[len(b.records)-1].GetCommit().GetChanges()[0].Grant.TtlMs = 30_000
	return b
}

// member is the same of a lease in a session; empty: in none.
func (b *book) member(unixMillis int64, kind messages.Event_Kind, session string) *book {
	b.at(unixMillis, kind)
	b.records[len(b.records)-1].GetCommit().GetChanges()[0].Grant.Session = []byte(session)
	return b
}

// ordered is a change of token 1 of a, whose extends and sets have these highest numbers.
func (b *book) ordered(kind messages.Event_Kind, extends, sets uint64) *book {
	g := lease("a", 1)
	g.ExtendOrder, g.SetOrder = extends, sets
	return b.put(&journal.Commit{Changes: []*journal.Change{{Kind: kind, Grant: g}}})
}

// remembers says that owners remember free resources for a minute.
func (b *book) remembers() *book {
	b.remember = time.Minute
	return b
}

func (b *book) openedAt(unixMillis int64) *book {
	b.epoch++
	return b.put(&journal.Commit{Opened: true, AtMs: unixMillis})
}

// handsOver is a hand-over at 1400, by the owner's clock, of so many milliseconds of the lease of token 1.
func (b *book) handsOver(left uint32) *book {
	return b.put(&journal.Commit{AtMs: 1400, HandOver: &journal.HandOver{
		LeftMs: map[uint64]uint32{journal.LeaseKey("r", 1): left},
	}})
}

func (b *book) reserve(token uint64) *book {
	return b.put(&journal.Commit{Changes: []*journal.Change{{Resource: "r", Reserved: token}}})
}

func (b *book) page(floor uint64, entries ...*journal.Entry) *book {
	return b.putPage(&journal.Page{Number: b.number, Epoch: b.epoch, Floor: floor, Entries: entries})
}

func (b *book) putPage(p *journal.Page) *book {
	return b.add(&journal.Record{Format: journal.Format, Body: &journal.Record_Page{Page: p}})
}

func entry(state messages.Event_Kind, token uint64) *journal.Entry {
	return &journal.Entry{State: state, Grant: lease("a", token)}
}

// shrunk is what a page has of a lease that ended long ago.
func shrunk(state messages.Event_Kind, owner string) *journal.Entry {
	return &journal.Entry{
		State: state, OwnerDigest: max(journal.Hash(owner), 1), Grant: &journal.Grant{Resource: "r", Token: 1},
	}
}

// journals that are in order have no text; that of others is what is said of their last record.
var journals = []struct {
	name string
	*book
	wanted string
}{
	{"leases one after the other", newBook().change(acquired, "a", 1).change(extended, "a", 1).change(released, "a",
		1).change(acquired, "b", 2), ""},
	{"a gap", newBook().put(&journal.Commit{Number: 3}), "follows commit 1"},
	{"the beginning is missing", new(book).put(&journal.Commit{Number: 2, Opened: true, Epoch: 1}), "follows commit 0"},
	{"a deposed writer", newBook().opened().put(&journal.Commit{Epoch: 1}), "follows epoch 2"},
	{"a deposed writer in its successor's epoch", newBook().opened().put(
		&journal.Commit{Writer: &journal.Writer{Node: "n1", Incarnation: 1}}), "in epoch 2 of node"},
	{"an epoch left out", newBook().put(&journal.Commit{Opened: true, Epoch: 3}), "opens it behind epoch 1"},
	{"an epoch twice", newBook().put(&journal.Commit{Opened: true, Epoch: 1, Writer: &journal.Writer{Incarnation: 7}}),
		"opens it behind epoch 1"},
	{"a writer that opens it twice", newBook().put(
		&journal.Commit{Opened: true, Epoch: 2, Writer: &journal.Writer{Incarnation: 1}}), "opens it behind epoch 1"},
	{"another node of the same incarnation", newBook().put(
		&journal.Commit{Writer: &journal.Writer{Node: "n2", Incarnation: 1}}), "written by"},
	{"a watermark that goes back", newBook().put(&journal.Commit{Published: 2}).put(&journal.Commit{Published: 1}),
		"watermark is commit 1, behind watermark 2"},
	{"a watermark of a commit to come", newBook().put(&journal.Commit{Published: 3}), "watermark is commit 3"},

	{"a grant inside a lease", newBook().change(acquired, "a", 1).change(acquired, "b", 2), "is held"},
	{"the first token left out", newBook().change(acquired, "a", 2), "behind token 0"},
	{"a token left out", newBook().lived("a", 1).change(acquired, "b", 3), "behind token 1"},
	{"a token twice", newBook().lived("a", 1).change(acquired, "b", 1), "behind token 1"},
	{"a lease that ends twice", newBook().lived("a", 1).change(expired, "a", 1),
		"EXPIRED of token 1, which is RELEASED"},
	{"an end of another lease", newBook().change(acquired, "a", 1).change(released, "b", 1),
		"of token 1 of b where token 1 of a"},
	{"an extension of another lease", newBook().change(acquired, "a", 1).change(extended, "a", 2),
		"of token 2 of a where token 1 of a"},
	{"an expiry before its time", newBook().at(1000, acquired).at(1500, expired), "500 ms before its time"},
	{"a clock that drifts", newBook().lasting(1000, acquired).lasting(30_980, expired), ""},
	{"a clock that drifts by more than clocks do", newBook().lasting(1000, acquired).lasting(30_979, expired),
		"21 ms before its time"},
	{"an expiry with its session", newBook().member(1000, acquired, "s").member(1500, expired, "s"), ""},
	{"an expiry with its session at a new owner", newBook().member(1000, acquired, "s").openedAt(1400).member(1500,
		expired, "s"), ""},
	{"a lease that leaves its session", newBook().member(1000, acquired, "s").member(1100, extended, ""), ""},
	{"a lease that moves into another session", newBook().member(1000, acquired, "s").member(1100, extended, "t"), ""},
	{"a lease that moves into a session", newBook().member(1000, acquired, "").member(1100, extended, "t"), ""},
	{"an expiry with another session", newBook().member(1000, acquired, "s").member(1500, expired, "t"),
		`EXPIRED of token 1 in session 74, whose lease is in 73`},
	{"numbers that grow", newBook().ordered(acquired, 0, 0).ordered(extended, 2, 0).ordered(updated, 2,
		1).ordered(extended, 2, 1).ordered(released, 2, 1), ""},
	{"a number that falls", newBook().ordered(acquired, 0, 0).ordered(extended, 2, 0).ordered(extended, 1, 0),
		"EXTENDED of token 1 with extends up to 1, sets up to 0, where the lease has extends up to 2, sets up to 0"},
	{"a number that is forgotten", newBook().ordered(acquired, 0, 0).ordered(updated, 0, 3).ordered(extended, 0, 0),
		"where the lease has extends up to 0, sets up to 3"},
	{"a set that is an extend", newBook().ordered(acquired, 0, 0).ordered(updated, 2, 0),
		"UPDATED of token 1 with extends up to 2"},
	{"a number of an end", newBook().ordered(acquired, 0, 0).ordered(released, 0, 2), "RELEASED of token 1 with"},
	{"a number of a grant", newBook().ordered(acquired, 1, 0), "token 1 begins with extends up to 1"},
	{"new metadata", newBook().change(acquired, "a", 1).change(updated, "a", 1).change(extended, "a", 1).change(updated,
		"a", 1).change(released, "a", 1), ""},
	{"new metadata of another lease", newBook().change(acquired, "a", 1).change(updated, "a", 2),
		"of token 2 of a where token 1 of a"},
	{"new metadata of a lease that has ended", newBook().lived("a", 1).change(updated, "a", 1),
		"UPDATED of token 1, which is RELEASED"},
	{"an expiry too early behind new metadata", newBook().at(1000, acquired).at(1400, updated).at(1500, expired),
		"before its time"},
	{"an expiry behind an extension, whose time is not recorded",
		newBook().at(1000, acquired).at(1400, extended).at(1500, expired), ""},
	{"a new owner that does not let the lease run anew", newBook().at(1000, acquired).openedAt(1900).at(2500, expired),
		"400 ms before its time"},
	{"a new owner that lets the rest run", newBook().at(1000, acquired).handsOver(600).openedAt(9000).at(9600, expired),
		""},
	{"a new owner that does not let the rest run",
		newBook().at(1000, acquired).handsOver(600).openedAt(9000).at(9100, expired), "500 ms before its time"},
	{"a rest that is too short", newBook().at(1000, acquired).handsOver(200),
		"handed over with an end at 1600, 400 ms before its time"},
	{
		"a rest for an owner that does not come next",
		newBook().at(1000, acquired).handsOver(600).openedAt(9000).openedAt(9100).at(9700, expired),
		"400 ms before its time",
	},
	{
		"an ephemeral lease that is recorded", newBook().put(
			&journal.Commit{Changes: []*journal.Change{{Kind: acquired, Grant: &journal.Grant{
				Resource: "r", Owner: "a", Token: 1, TtlMs: 1000, Durability: messages.Durability_EPHEMERAL,
			}}}}), "is recorded",
	},
	{"a reservation, and a token within it", newBook().lived("a", 1).reserve(9).change(acquired, "b", 5), ""},
	{"a reservation of what was granted", newBook().lived("a", 1).reserve(1), "reserved up to 1"},
	{"a reservation within a lease", newBook().change(acquired, "a", 1).reserve(9), "reserved up to 9"},
	{"a reservation that shrinks", newBook().reserve(9).reserve(8), "reserved up to 8"},
	{"a new owner within the reservation", newBook().reserve(9).opened().change(acquired, "a", 9), "behind token 9"},

	{"a request twice", newBook().lived("a", 1).change(acquired, "a", 2),
		"was granted before, and its lease had ended"},
	{"the last request of the owner before", newBook().lived("a", 1).opened().change(acquired, "a", 2),
		"was granted before, and its lease had ended"},
	{"the last request of an earlier owner", newBook().lived("a", 1).opened().opened().change(acquired, "a", 2),
		"was granted before, and its lease had ended"},
	{"a request that the new owner does not know",
		newBook().lived("a", 1).lived("b", 2).opened().change(acquired, "a", 3), ""},

	{"pages", newBook().page(0).change(acquired, "a", 1).page(0, entry(acquired, 1)).change(released, "a", 1).page(0,
		shrunk(released, "a")).page(0, shrunk(released, "a")), ""},
	{"a page of an earlier commit", newBook().put(&journal.Commit{}).putPage(&journal.Page{Number: 1, Epoch: 1}),
		"behind commit 1 of epoch 1"},
	{"a page with an earlier state", newBook().lived("a", 1).page(0, entry(acquired, 1)),
		"where the journal has token 1"},
	{"a page with another token", newBook().change(acquired, "a", 1).page(0, entry(acquired, 2)),
		"where the journal has token 1"},
	{"a page with another owner", newBook().lived("a", 1).page(0, shrunk(released, "b")),
		"where the journal has token 1"},
	{"a page that shrinks what is held", newBook().change(acquired, "a", 1).page(0, shrunk(acquired, "a")),
		"where the journal has token 1"},
	{
		"a page with a resource of another", newBook().putPage(&journal.Page{
			Number: 1, Epoch: 1, Depth: 1, Prefix: 1 - journal.Bits(journal.Hash("r"), 1),
			Entries: []*journal.Entry{entry(released, 1)},
		}), "belongs to another page",
	},
	{"a page with what never was", newBook().page(0, entry(released, 1)), "where the journal has token 0"},
	{"a page that forgets", newBook().lived("a", 1).page(1).change(acquired, "b", 4), ""},
	{"a page that forgets what is held", newBook().change(acquired, "a", 1).page(1), "forgets it where token 1 stands"},
	{"a page that forgets without a floor", newBook().lived("a", 1).page(0), "forgets it where token 1 stands"},
	{"a token that was forgotten", newBook().lived("a", 1).page(1).change(acquired, "b", 1), "behind token 1"},
	{"a page that forgets in time", newBook().remembers().at(1000, acquired).at(1400, released).page(1).openedAt(61_000),
		""},
	{"a page that forgets early", newBook().remembers().at(1000, acquired).at(1400, released).page(1).openedAt(58_900),
		"it was forgotten within 57.9s of its last change"},
	{"a floor that falls", newBook().page(3).page(2), "lowers the floor"},
}

func TestJournals(t *testing.T) {
	for _, j := range journals {
		t.Run(j.name, func(t *testing.T) {
			s := audit.New(0)
			s.Remember = j.remember
			for i, r := range j.records {
				found := text(s.Read(uint64(i+1), r))
				if last := i == len(j.records)-1; !last || j.wanted == "" {
					if found != "" {
						t.Error(found)
					}
				} else if !strings.Contains(found, j.wanted) {
					t.Errorf("%q does not say %q", found, j.wanted)
				}
			}
		})
	}
}

func text(found []audit.Violation) string {
	var b strings.Builder
	for _, v := range found {
		b.WriteString(v.String() + "\n")
	}
	return b.String()
}

// In a partial journal what is missing is excused, and what stands there is still checked.
func TestPartial(t *testing.T) {
	b := newBook().lived("a", 1).lived("b", 2).change(acquired, "c", 3)
	for _, test := range []struct {
		name   string
		read   []int // positions
		wanted string
		gaps   int64
	}{
		{"whole", []int{1, 2, 3, 4, 5, 6}, "", 0},
		{"the beginning is missing", []int{4, 5, 6}, "", 0},
		{"the middle is missing", []int{1, 2, 5, 6}, "", 1},
		{"twice", []int{1, 2, 3, 3}, "behind position 3", 0},
		{"back", []int{4, 5, 3}, "behind position 5", 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := audit.NewPartial(0)
			got := ""
			for _, position := range test.read {
				got += text(s.Read(uint64(position), b.records[position-1]))
			}
			if (got == "") != (test.wanted == "") || !strings.Contains(got, test.wanted) {
				t.Errorf("got %q, want %q", got, test.wanted)
			}
			if s.Gaps != test.gaps {
				t.Errorf("%d gaps", s.Gaps)
			}
			if test.wanted == "" && (s.Token("r") != 3 || len(s.Held()["r"]) != 1 ||
				s.Held()["r"][0].GetOwner() != "c") {
				t.Errorf("token %d, held: %v", s.Token("r"), s.Held())
			}
		})
	}
}
