package audit_test

import (
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/holdfast-io/holdfast/integration/audit"
	"github.com/holdfast-io/holdfast/messages"
	"github.com/holdfast-io/holdfast/messages/journal"
)

const most = 4_294_967_295

// shared is a lease with one permit for each slot.
func shared(owner string, token, phase uint64, limit uint32, slots ...uint32) *journal.Grant {
	g := lease(owner, token)
	g.Limit, g.Slots, g.Phase = limit, slots, phase
	return g
}

// reader is a lease beside any number of others.
func reader(owner string, token, phase uint64, slot uint32) *journal.Grant {
	return shared(owner, token, phase, most, slot)
}

func (b *book) shared(kind messages.Event_Kind, grants ...*journal.Grant) *book {
	for _, g := range grants {
		b.put(&journal.Commit{Changes: []*journal.Change{{Kind: kind, Grant: g}}})
	}
	return b
}

func (b *book) acquired(grants ...*journal.Grant) *book { return b.shared(acquired, grants...) }
func (b *book) released(grants ...*journal.Grant) *book { return b.shared(released, grants...) }

// former is the lease that a grant of the same owner has been downgraded to.
func former(g *journal.Grant, token uint64) *journal.Grant {
	g = proto.CloneOf(g)
	g.Former = token
	return g
}

// numbered is a lease whose extends have this highest number.
func numbered(g *journal.Grant, extends uint64) *journal.Grant {
	g.ExtendOrder = extends
	return g
}

// downgraded is a commit with the end of a lease, what comes between, and the grant of another.
func (b *book) downgraded(from, to *journal.Grant, between ...*journal.Change) *book {
	changes := []*journal.Change{{Kind: released, Grant: from, Reason: audit.Downgraded}}
	changes = append(changes, between...)
	if to != nil {
		changes = append(changes, &journal.Change{Kind: acquired, Grant: to})
	}
	return b.put(&journal.Commit{Changes: changes})
}

// together is an entry with several leases, of which the last one is held.
func together(last *journal.Grant, others ...*journal.Grant) *journal.Entry {
	e := &journal.Entry{State: acquired, Grant: last}
	for _, g := range others {
		g = proto.CloneOf(g)
		g.Resource = ""
		e.Others = append(e.Others, g)
	}
	return e
}

// prolonged is the grant as an extension leaves it.
func prolonged(g *journal.Grant) *journal.Grant {
	g = proto.CloneOf(g)
	g.TtlMs++
	return g
}

// long is a lease that lasts longer than the others.
var long = &journal.Grant{Resource: "r", Owner: "a", Token: 1, TtlMs: 300_000, AcquiredAtMs: 200_000, Limit: 2,
	Slots: []uint32{0}, Phase: 1}

func readers() *book { return newBook().acquired(reader("a", 1, 1, 0), reader("b", 2, 1, 1)) }

// Each pair of journals is distinguished by one rule, in its last record.
var sharing = []pair{
	{
		"readers hold together, a writer alone",
		readers(),
		newBook().acquired(reader("a", 1, 1, 0), lease("b", 2)),
		"token 2 is granted to b while token 1 of a is held: 2 permits, where limits are 1 and 4294967295",
	},
	{
		"a reader waits for the writer",
		newBook().acquired(lease("a", 1)).released(lease("a", 1)).acquired(reader("b", 2, 2, 0)),
		newBook().acquired(lease("a", 1), reader("b", 2, 2, 0)),
		"token 2 is granted to b while token 1 of a is held",
	},
	{
		"no more permits than the grant allows",
		readers().acquired(shared("c", 3, 1, 3, 2)),
		readers().acquired(shared("c", 3, 1, 2, 2)),
		"while token 1 of a is held: 3 permits, where limits are 2 and",
	},
	{
		"no more permits than a holder allows",
		newBook().acquired(shared("a", 1, 1, 3, 0, 1), shared("b", 2, 1, 9, 2)),
		newBook().acquired(shared("a", 1, 1, 3, 0, 1), shared("b", 2, 1, 9, 2, 3)),
		"while token 1 of a is held: 4 permits, where limits are 9 and 3",
	},
	{
		"permits that were given back are free",
		newBook().acquired(shared("a", 1, 1, 2, 0),
			shared("b", 2, 1, 2, 1)).released(shared("a", 1, 1, 2, 0)).acquired(shared("c", 3, 1, 2, 0)),
		newBook().acquired(shared("a", 1, 1, 2, 0), shared("b", 2, 1, 2, 1)).acquired(shared("c", 3, 1, 2, 2)),
		"3 permits, where limits are 2 and 2",
	},
	{
		"tokens rise by one beside other leases",
		readers().acquired(reader("c", 3, 1, 2)),
		readers().acquired(reader("c", 4, 1, 2)),
		"token 4 is granted behind token 2, which is remembered",
	},
	{
		"a slot has one holder",
		readers().acquired(reader("c", 3, 1, 2)),
		readers().acquired(reader("c", 3, 1, 1)),
		"token 3 gets slot 1, which token 2 has",
	},
	{
		"slots are the smallest free numbers",
		readers().released(reader("a", 1, 1, 0)).acquired(shared("c", 3, 1, most, 0, 2)),
		readers().released(reader("a", 1, 1, 0)).acquired(shared("c", 3, 1, most, 2, 3)),
		"token 3 gets the slots [2 3], where [0 2] are the smallest free ones",
	},
	{
		"slots rise",
		newBook().acquired(shared("a", 1, 1, 3, 0, 1)),
		newBook().acquired(shared("a", 1, 1, 3, 1, 0)),
		"which no lease has",
	},
	{
		"a lease has no more permits than its limit",
		newBook().acquired(shared("a", 1, 1, 2, 0, 1)),
		newBook().acquired(shared("a", 1, 1, 2, 0, 1, 2)),
		"which no lease has",
	},
	{
		"an exclusive lease has no slots",
		newBook().acquired(lease("a", 1)),
		newBook().acquired(shared("a", 1, 0, 0, 0)),
		"which no lease has",
	},
	{
		"leases that are held together have one phase",
		readers().acquired(reader("c", 3, 1, 2)),
		readers().acquired(reader("c", 3, 2, 2)),
		"token 3 has phase 2, and token 1 beside it phase 1",
	},
	{
		"the phase stays when its first lease has ended",
		readers().released(reader("a", 1, 1, 0)).acquired(reader("c", 3, 1, 0)),
		readers().released(reader("a", 1, 1, 0)).acquired(reader("c", 3, 2, 0)),
		"token 3 has phase 2, and token 2 beside it phase 1",
	},
	{
		"a free resource begins a new phase",
		newBook().acquired(reader("a", 1, 1, 0)).released(reader("a", 1, 1, 0)).acquired(reader("b", 2, 2, 0)),
		newBook().acquired(reader("a", 1, 1, 0)).released(reader("a", 1, 1, 0)).acquired(reader("b", 2, 1, 0)),
		"token 2 has phase 1, though nothing is held beside it",
	},
	{
		"fences do not go back, even where ephemeral leases may be held",
		newBook().lived("a", 1).lived("b", 2).reserve(9).acquired(reader("c", 5, 3, 0)),
		newBook().lived("a", 1).lived("b", 2).reserve(9).acquired(reader("c", 5, 1, 0)),
		"token 5 has fence 1, behind fence 2",
	},
	{
		"only a lease that is held is ended",
		readers().released(reader("a", 1, 1, 0)).released(reader("b", 2, 1, 1)),
		readers().released(reader("a", 1, 1, 0)).released(reader("a", 1, 1, 0)),
		"RELEASED of token 1 of a where token 2 of b is held",
	},
	{
		"only a lease that is held is extended",
		readers().shared(extended, prolonged(reader("a", 1, 1, 0))),
		readers().released(reader("a", 1, 1, 0)).shared(extended, prolonged(reader("a", 1, 1, 0))),
		"EXTENDED of token 1 of a where token 2 of b is held",
	},
	{
		"an extension leaves the permits as they are",
		readers().shared(extended, prolonged(reader("a", 1, 1, 0))),
		readers().shared(extended, prolonged(reader("a", 1, 1, 2))),
		"EXTENDED of token 1 with",
	},
	{
		"each lease has its own time",
		newBook().shared(acquired, long, shared("b", 2, 1, 2, 1)).shared(expired, shared("b", 2, 1, 2, 1)),
		newBook().shared(acquired, long, shared("b", 2, 1, 2, 1)).shared(expired, long),
		"before its time",
	},
	{
		"a lease goes on under another token, of the same request",
		newBook().acquired(lease("a", 1)).downgraded(lease("a", 1), former(reader("a", 2, 2, 0), 1)),
		newBook().acquired(lease("a", 1)).downgraded(lease("a", 1), former(reader("b", 2, 2, 0), 1)),
		"token 2 of b, formerly 1, is granted where token 1 of a was downgraded",
	},
	{
		"nothing is granted between",
		newBook().acquired(lease("a", 1)).downgraded(lease("a", 1),
			former(reader("a", 2, 2, 0), 1)).acquired(reader("b", 3, 2, 1)),
		newBook().acquired(lease("a", 1)).downgraded(lease("a", 1), former(reader("a", 3, 3, 0), 1),
			&journal.Change{Kind: acquired, Grant: reader("b", 2, 2, 0)}),
		"token 2 of b, formerly 0, is granted where token 1 of a was downgraded",
	},
	{
		"nothing else happens between",
		newBook().acquired(lease("a", 1)).downgraded(lease("a", 1), former(reader("a", 2, 2, 0), 1)),
		newBook().acquired(lease("a", 1)).downgraded(lease("a", 1), former(reader("a", 2, 2, 0), 1),
			&journal.Change{Resource: "r", Reserved: 9}),
		"token 1 is downgraded, and KIND_UNSPECIFIED comes behind it",
	},
	{
		"both are in one commit",
		newBook().acquired(lease("a", 1)).downgraded(lease("a", 1), former(reader("a", 2, 2, 0), 1)),
		newBook().acquired(lease("a", 1)).downgraded(lease("a", 1), nil),
		"token 1 is downgraded, and the end of the commit comes behind it",
	},
	{
		"a former token is of a downgrade",
		newBook().acquired(lease("a", 1)).downgraded(lease("a", 1), former(reader("a", 2, 2, 0), 1)),
		newBook().lived("b", 1).acquired(former(reader("a", 2, 2, 0), 1)),
		"token 2 has the former token 1, which was not downgraded just before",
	},
	{
		"a limit never falls",
		newBook().acquired(shared("a", 1, 1, 3, 0)).downgraded(shared("a", 1, 1, 3, 0),
			former(shared("a", 2, 2, 4, 0), 1)),
		newBook().acquired(shared("a", 1, 1, 3, 0)).downgraded(shared("a", 1, 1, 3, 0),
			former(shared("a", 2, 2, 2, 0), 1)),
		"token 1 was downgraded with limit 3",
	},
	{
		"a downgrade keeps the numbers",
		newBook().acquired(lease("a", 1)).ordered(extended, 2, 0).downgraded(numbered(lease("a", 1), 2),
			numbered(former(reader("a", 2, 2, 0), 1), 3)),
		newBook().acquired(lease("a", 1)).ordered(extended, 2, 0).downgraded(numbered(lease("a", 1), 2),
			former(reader("a", 2, 2, 0), 1)),
		"token 1 was downgraded with extends up to 2, sets up to 0, and goes on as token 2 with extends up to 0",
	},
	{
		"a downgrade keeps its slots",
		newBook().acquired(shared("b", 1, 1, 3, 0), shared("a", 2, 1, 3, 1)).released(
			shared("b", 1, 1, 3, 0)).downgraded(shared("a", 2, 1, 3, 1), former(shared("a", 3, 3, 4, 1), 2)),
		newBook().acquired(shared("b", 1, 1, 3, 0), shared("a", 2, 1, 3, 1)).released(
			shared("b", 1, 1, 3, 0)).downgraded(shared("a", 2, 1, 3, 1), former(shared("a", 3, 3, 4, 0), 2)),
		"and goes on as token 3 with",
	},
	{
		"a downgrade begins a phase",
		newBook().acquired(shared("a", 1, 1, 3, 0)).downgraded(shared("a", 1, 1, 3, 0),
			former(shared("a", 2, 2, 4, 0), 1)),
		newBook().acquired(shared("a", 1, 1, 3, 0)).downgraded(shared("a", 1, 1, 3, 0),
			former(shared("a", 2, 1, 4, 0), 1)),
		"and goes on as token 2 with",
	},
	{
		"a downgrade has a new token",
		newBook().acquired(lease("a", 1)).downgraded(lease("a", 1), former(reader("a", 2, 2, 0), 1)),
		newBook().acquired(lease("a", 1)).downgraded(lease("a", 1), former(reader("a", 1, 1, 0), 1)),
		"token 1 is granted behind token 1",
	},
	{
		"only a lease that is held alone is downgraded",
		newBook().acquired(shared("a", 1, 1, 3, 0)).downgraded(shared("a", 1, 1, 3, 0),
			former(shared("a", 2, 2, 4, 0), 1)),
		newBook().acquired(shared("a", 1, 1, 3, 0), shared("b", 2, 1, 3, 1)).downgraded(shared("a", 1, 1, 3, 0),
			former(shared("a", 3, 3, 4, 0), 1)),
		"token 1 is downgraded while token 2 is held",
	},
	{
		"a request has one lease",
		readers().acquired(reader("c", 3, 1, 2)),
		readers().acquired(reader("a", 3, 1, 2)),
		"the request holds token 1, and is granted token 3",
	},
	{
		"a request is not granted again beside others",
		readers().released(reader("a", 1, 1, 0)).acquired(reader("c", 3, 1, 0)),
		readers().released(reader("a", 1, 1, 0)).acquired(reader("a", 3, 1, 0)),
		"was granted before, and its lease had ended",
	},
	{
		"a request is not granted again when what it was downgraded to has ended",
		newBook().acquired(lease("a", 1)).downgraded(lease("a", 1),
			former(reader("a", 2, 2, 0), 1)).released(former(reader("a", 2, 2, 0), 1)).acquired(lease("b", 3)),
		newBook().acquired(lease("a", 1)).downgraded(lease("a", 1),
			former(reader("a", 2, 2, 0), 1)).released(former(reader("a", 2, 2, 0), 1)).acquired(lease("a", 3)),
		"was granted before, and its lease had ended",
	},
	{
		"a new owner knows the requests of all that is held",
		readers().opened().released(reader("a", 1, 1, 0)).acquired(reader("c", 3, 1, 0)),
		readers().opened().released(reader("a", 1, 1, 0)).acquired(reader("a", 3, 1, 0)),
		"was granted before, and its lease had ended",
	},
	{
		"tokens are reserved for ephemeral leases beside shared ones",
		readers().reserve(9).acquired(reader("c", 5, 1, 3)),
		newBook().acquired(lease("a", 1)).reserve(9),
		"reserved up to 9 where token 1 stands",
	},
	{
		"tokens are reserved where a permit is free",
		newBook().acquired(shared("a", 1, 1, 3, 0, 1)).reserve(9),
		newBook().acquired(shared("a", 1, 1, 2, 0, 1)).reserve(9),
		"reserved up to 9 where token 1 stands",
	},
	{
		"a page has all that is held",
		readers().page(0, together(reader("b", 2, 1, 1), reader("a", 1, 1, 0))),
		readers().page(0, together(reader("b", 2, 1, 1))),
		"where the journal has token 2 of b (ACQUIRED), reserved 0, and 2 held",
	},
	{
		"a page has nothing that has ended",
		readers().released(reader("a", 1, 1, 0)).page(0, together(reader("b", 2, 1, 1))),
		readers().released(reader("a", 1, 1, 0)).page(0, together(reader("b", 2, 1, 1), reader("a", 1, 1, 0))),
		"and 1 held",
	},
	{
		"a page has the oldest first",
		readers().acquired(reader("c", 3, 1, 2)).page(0,
			together(reader("c", 3, 1, 2), reader("a", 1, 1, 0), reader("b", 2, 1, 1))),
		readers().acquired(reader("c", 3, 1, 2)).page(0,
			together(reader("c", 3, 1, 2), reader("b", 2, 1, 1), reader("a", 1, 1, 0))),
		"and 3 held",
	},
	{
		"a page has the permits",
		readers().page(0, together(reader("b", 2, 1, 1), reader("a", 1, 1, 0))),
		readers().page(0, together(reader("b", 2, 1, 1), reader("a", 1, 1, 7))),
		"and 2 held",
	},
	{
		"a page does not shrink the last lease while others are held",
		readers().released(reader("b", 2, 1, 1)).page(0,
			&journal.Entry{State: released, Grant: reader("b", 2, 1, 1),
				Others: together(nil, reader("a", 1, 1, 0)).GetOthers()}),
		readers().released(reader("b", 2, 1, 1)).page(0, &journal.Entry{
			State: released, Grant: &journal.Grant{Resource: "r", Token: 2}, OwnerDigest: max(journal.Hash("b"), 1),
			Others: together(nil, reader("a", 1, 1, 0)).GetOthers(),
		}),
		"and 1 held",
	},
	{
		"a page does not forget a lease that is not the last one",
		readers().released(reader("b", 2, 1, 1)).released(reader("a", 1, 1, 0)).page(2),
		readers().released(reader("b", 2, 1, 1)).page(2),
		"the page forgets it where token 2 stands (RELEASED), reserved 0, 1 held",
	},
}

func TestSharing(t *testing.T) { distinguish(t, sharing) }

// violations is what is wrong with a journal.
func violations(records []*journal.Record) string {
	s := audit.New(0)
	found := ""
	for i, r := range records {
		found += text(s.Read(uint64(i+1), r))
	}
	return found
}

// Behind a gap nothing is known of what is held beside a shared lease, until a grant or a page shows all.
func TestSharingBehindAGap(t *testing.T) {
	gap := func(b *book) *book { return b.released(reader("b", 2, 1, 1)) } // is not read
	for _, test := range []struct {
		name    string
		records *book
		wanted  string
		held    int
	}{
		{"a slot that may be free", gap(readers()).acquired(reader("c", 3, 1, 1)), "", 3},
		{"a page", gap(readers()).put(new(journal.Commit)).page(0,
			&journal.Entry{State: released, Grant: reader("b", 2, 1, 1),
				Others: together(nil, reader("a", 1, 1, 0)).GetOthers()}), "", 1},
		{"a page, and a writer", gap(readers()).put(new(journal.Commit)).page(0,
			&journal.Entry{State: released, Grant: reader("b", 2, 1, 1),
				Others: together(nil, reader("a", 1, 1, 0)).GetOthers()}).acquired(lease("c", 3)),
			"is granted to c while token 1 of a is held", 1},
		{"a writer, and a reader", gap(readers()).acquired(lease("c", 3), reader("d", 4, 4, 0)),
			"is granted to d while token 3 of c is held", 1},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := audit.NewPartial(0)
			found := ""
			for i, r := range test.records.records {
				if i != 3 {
					found += text(s.Read(uint64(i+1), r))
				}
			}
			if (found == "") != (test.wanted == "") || !strings.Contains(found, test.wanted) {
				t.Errorf("got %q, want %q", found, test.wanted)
			}
			if got := len(s.Held()["r"]); got != test.held {
				t.Errorf("%d leases are held, want %d", got, test.held)
			}
		})
	}
}
