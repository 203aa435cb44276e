package ledger

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/holdfast-io/holdfast/messages"
	"github.com/holdfast-io/holdfast/messages/journal"
)

// grantOf is a grant of the resource r, shared if it has a limit.
func grantOf(token uint64, limit uint32, slots ...uint32) *journal.Grant {
	return &journal.Grant{Resource: "r", Owner: "o", Token: token, TtlMs: 1000, Limit: limit, Slots: slots, Phase: 1}
}

func granted(g *journal.Grant) *journal.Change {
	return &journal.Change{Kind: messages.Event_ACQUIRED, Grant: g}
}

func released(g *journal.Grant) *journal.Change {
	return &journal.Change{Kind: messages.Event_RELEASED, Grant: g}
}

func extended(g *journal.Grant) *journal.Change {
	return &journal.Change{Kind: messages.Event_EXTENDED, Grant: g}
}

func expired(g *journal.Grant) *journal.Change {
	return &journal.Change{Kind: messages.Event_EXPIRED, Grant: g}
}

// over is the end of what a lost lease held back.
func over(g *journal.Grant) *journal.Change {
	return &journal.Change{Kind: messages.Event_CONFIRMED, Grant: g}
}

// blockOf is a grant of so many tokens of the resource r.
func blockOf(token uint64, tokens uint32) *journal.Grant {
	return &journal.Grant{Resource: "r", Owner: "o", Token: token, TtlMs: 1000, Tokens: tokens}
}

// resting is the end of a lease of which a shortest hold is left.
func resting(c *journal.Change) *journal.Change {
	c.RestingMs = 700
	return c
}

// holdingBack returns a grant whose loss holds its resource back.
func holdingBack(g *journal.Grant) *journal.Grant {
	g.DelayMs = 1000
	return g
}

func reserved(token uint64) *journal.Change { return &journal.Change{Resource: "r", Reserved: token} }

// A change that the rule of leases does not allow is refused, and the like that it allows is not.
func TestChangesFollow(t *testing.T) {
	one, two, three := grantOf(1, 3, 0), grantOf(2, 3, 1), grantOf(3, 3, 2)
	alone := &journal.Grant{Resource: "r", Owner: "o", Token: 1, TtlMs: 1000}
	exclusive := &journal.Grant{Resource: "r", Owner: "o", Token: 4, TtlMs: 1000}
	block, lostBlock := blockOf(1, 4), holdingBack(blockOf(1, 4))
	back, shared := holdingBack(grantOf(1, 0)), holdingBack(grantOf(1, 3, 0))
	for name, test := range map[string]struct {
		before []*journal.Change
		change *journal.Change
		want   string // what the error says; empty: there is none
	}{
		"a third permit of three": {[]*journal.Change{granted(one), granted(two)}, granted(three), ""},
		"a fourth permit of three": {[]*journal.Change{granted(one), granted(two), granted(three)},
			granted(grantOf(4, 9, 3)), "grant"},
		"two permits where one is left": {[]*journal.Change{granted(one), granted(two)},
			granted(grantOf(3, 9, 2, 3)), "grant"},
		"more than its own limit": {[]*journal.Change{granted(grantOf(1, 9, 0, 1))},
			granted(grantOf(2, 2, 2)), "grant"},
		"a slot that is taken": {[]*journal.Change{granted(one)}, granted(grantOf(2, 3, 0)), "grant"},
		"a slot among others that is taken": {[]*journal.Change{granted(grantOf(1, 9, 0, 2, 4))},
			granted(grantOf(2, 9, 1, 3, 4)), "grant"},
		"slots between those of others": {[]*journal.Change{granted(grantOf(1, 9, 0, 2, 4))},
			granted(grantOf(2, 9, 1, 3, 5)), ""},
		"a slot that was freed": {[]*journal.Change{granted(one), granted(two), released(one)},
			granted(grantOf(3, 3, 0)), ""},
		"a writer beside a reader": {[]*journal.Change{granted(one), granted(two), released(two)},
			granted(exclusive), "grant"},
		"a reader beside a writer": {[]*journal.Change{granted(alone)}, granted(two), "grant"},
		"a writer behind all readers": {[]*journal.Change{granted(one), granted(two), released(one),
			released(two)}, granted(exclusive), ""},
		"a token that was granted": {[]*journal.Change{granted(one), granted(two), released(two)},
			granted(two), "grant"},
		"a token below a lease that ended": {[]*journal.Change{granted(one), granted(three), released(three)},
			granted(two), "grant"},
		"the end of an earlier lease": {[]*journal.Change{granted(one), granted(two)}, released(one), ""},
		"the second end of a lease": {[]*journal.Change{granted(one), granted(two), released(one)},
			released(one), "RELEASED"},
		"the second end of the last lease": {[]*journal.Change{granted(one), granted(two), released(two)},
			released(two), "RELEASED"},
		"the extension of an ended lease": {[]*journal.Change{granted(one), granted(two), released(one)},
			extended(one), "EXTENDED"},
		"the extension of an earlier lease": {[]*journal.Change{granted(one), granted(two)}, extended(one), ""},
		"the end of what was never granted": {nil, released(one), "RELEASED"},
		"a reservation beside a writer":     {[]*journal.Change{granted(alone)}, reserved(9), "reservation"},
		"a reservation beside a reader":     {[]*journal.Change{granted(one)}, reserved(9), ""},
		"one beside as many as may hold": {[]*journal.Change{granted(one), granted(two), granted(three)},
			reserved(9), "reservation"},
		"a reservation of a token in use": {[]*journal.Change{granted(one), granted(two)}, reserved(2),
			"reservation"},
		"a grant while it is held back": {[]*journal.Change{granted(back), expired(back)}, granted(exclusive),
			"grant"},
		"one beside a lost lease": {[]*journal.Change{granted(shared), granted(two), expired(shared)},
			granted(three), "grant"},
		"a grant when the hold is over": {[]*journal.Change{granted(back), expired(back), over(back)},
			granted(exclusive), ""},
		"a reservation while it is back": {[]*journal.Change{granted(back), expired(back)}, reserved(9),
			"reservation"},
		"the end of a hold": {[]*journal.Change{granted(shared), granted(two), expired(shared)},
			over(shared), ""},
		"the end of no hold": {[]*journal.Change{granted(one), expired(one)}, over(one), "CONFIRMED"},
		"the end of the hold of another": {[]*journal.Change{granted(shared), granted(two), expired(shared)},
			over(two), "CONFIRMED"},
		"the second end of a hold": {[]*journal.Change{granted(back), expired(back), over(back)}, over(back),
			"CONFIRMED"},
		"the end of a hold of what is held": {[]*journal.Change{granted(back)}, over(back), "CONFIRMED"},
		"a grant behind a block": {[]*journal.Change{granted(block), released(block)},
			granted(grantOf(5, 0)), ""},
		"a grant within a block": {[]*journal.Change{granted(block), released(block)},
			granted(grantOf(4, 0)), "grant"},
		"a block that grows":           {[]*journal.Change{granted(block)}, extended(blockOf(1, 9)), ""},
		"a lease that becomes a block": {[]*journal.Change{granted(alone)}, extended(blockOf(1, 9)), ""},
		"a block that shrinks":         {[]*journal.Change{granted(block)}, extended(blockOf(1, 3)), "EXTENDED"},
		"a block that is left":         {[]*journal.Change{granted(block)}, extended(grantOf(1, 0)), "EXTENDED"},
		"the end of a part of a block": {[]*journal.Change{granted(block)}, released(grantOf(1, 0)), "RELEASED"},
		"a block by another token":     {[]*journal.Change{granted(block)}, extended(blockOf(2, 3)), "EXTENDED"},
		"the end by another token":     {[]*journal.Change{granted(block)}, released(blockOf(4, 1)), "RELEASED"},
		"a grant within what has grown": {
			[]*journal.Change{granted(block), extended(blockOf(1, 9)), released(blockOf(1, 9))},
			granted(grantOf(9, 0)), "grant"},
		"a downgrade behind a block": {[]*journal.Change{granted(block), released(block)},
			granted(grantOf(5, 3, 0)), ""},
		"a reservation of the last of a block": {[]*journal.Change{granted(block), released(block)}, reserved(4),
			"reservation"},
		"a reservation behind a block": {[]*journal.Change{granted(block), released(block)}, reserved(5), ""},
		"the end of a hold by another token": {[]*journal.Change{granted(lostBlock), expired(lostBlock)},
			over(holdingBack(blockOf(2, 3))), "CONFIRMED"},
		"a grant while it rests": {[]*journal.Change{granted(alone), resting(released(alone))}, granted(two),
			"grant"},
		"a reservation while it rests": {[]*journal.Change{granted(alone), resting(expired(alone))}, reserved(9),
			"reservation"},
		"the end of a rest": {[]*journal.Change{granted(alone), resting(released(alone))}, over(alone), ""},
		"a grant behind a rest": {[]*journal.Change{granted(alone), resting(released(alone)), over(alone)},
			granted(exclusive), ""},
		"the second end of a rest": {[]*journal.Change{granted(alone), resting(released(alone)), over(alone)},
			over(alone), "CONFIRMED"},
		"the rest of a confirmed loss": {[]*journal.Change{granted(back), expired(back), resting(over(back))},
			over(back), ""},
		"a grant in the rest of a confirmed loss": {
			[]*journal.Change{granted(back), expired(back), resting(over(back))}, granted(exclusive), "grant"},
		"the release of a lost lease": {[]*journal.Change{granted(back), expired(back)}, released(back),
			"RELEASED"},
	} {
		t.Run(name, func(t *testing.T) {
			k := newScribe(t)
			k.commit(test.before...)
			r := k.ledger.Next(k.writer, 0)
			r.GetCommit().Changes = []*journal.Change{test.change}
			err := k.ledger.Read(k.ledger.position+1, r, never)
			switch {
			case test.want == "" && err != nil:
				t.Error(err)
			case test.want != "" && (!errors.Is(err, journal.ErrCorrupt) ||
				!strings.Contains(err.Error(), test.want+` of "r" token`)):
				t.Errorf("got %v, want that it names the %s", err, test.want)
			}

			// and in one commit with what was before, which changes nothing until it is applied
			one := newScribe(t)
			before := state(one.ledger)
			r = one.ledger.Next(one.writer, 0)
			r.GetCommit().Changes = append(slices.Clone(test.before), test.change)
			if _, err := one.ledger.Stage(r.GetCommit(), never); (err != nil) != (test.want != "") {
				t.Errorf("in one commit: %v", err)
			}
			if after := state(one.ledger); after != before {
				t.Errorf("a commit that is not applied has left %s", after)
			}
		})
	}
}

// A lease behind which tokens may have been issued, as a restored one, gets none of them.
func TestRestoredBlockDoesNotGrow(t *testing.T) {
	for tokens, isRefused := range map[uint32]bool{4: false, 5: true, 9: true} {
		s := newScribe(t)
		page := &journal.Page{Number: s.ledger.tail.Number, Epoch: s.ledger.tail.Epoch, Entries: []*journal.Entry{
			{Grant: blockOf(1, 4), State: messages.Event_ACQUIRED, Reserved: 7},
		}}
		s.append(pageRecord(page))
		s.takeOver()
		r := s.ledger.Next(s.writer, 0)
		r.GetCommit().Changes = []*journal.Change{extended(blockOf(1, tokens))}
		if _, err := s.ledger.Stage(r.GetCommit(), never); errors.Is(err, journal.ErrCorrupt) != isRefused {
			t.Errorf("%d tokens: %v", tokens, err)
		}
	}
}

// A journal may begin between the grants of leases that are held together. The page that comes later knows them all.
func TestJournalThatBeginsAmongSharedLeases(t *testing.T) {
	one, two, three, four := grantOf(1, 9, 0), grantOf(2, 9, 1), grantOf(3, 9, 2), holdingBack(grantOf(4, 9, 0))
	five := holdingBack(grantOf(5, 9, 2))
	longer := grantOf(2, 9, 1)
	longer.TtlMs = 5000
	commits := [][]*journal.Change{
		{granted(one)}, {granted(two)}, {granted(three)},
		{extended(longer)}, {released(one)}, {released(three)}, {granted(four)}, {granted(five)},
		{expired(five)}, {expired(four)}, {over(five)},
	}
	end := len(commits)
	for first := 1; first <= end; first++ {
		for page := first; page <= end; page++ { // the page stands behind this commit
			t.Run(fmt.Sprintf("from %d, page behind %d", first, page), func(t *testing.T) {
				whole := newScribe(t)
				var stored *journal.Record
				var records []*journal.Record
				for i, changes := range commits {
					r := whole.ledger.Next(whole.writer, 0)
					r.GetCommit().Changes = changes
					if err := whole.ledger.Read(whole.ledger.position+1, r, never); err != nil {
						t.Fatal(err)
					}
					if i+1 >= first {
						records = append(records, r)
					}
					if i+1 == page {
						c := whole.ledger.Checkpoint()
						stored = c.Next(whole.retention())
						records = append(records, stored)
					}
				}
				cut := New()
				for i, r := range records {
					if err := cut.Read(uint64(i+1), r, never); err != nil {
						t.Fatal(err)
					}
				}
				if err := cut.Complete(); err != nil {
					t.Fatal(err)
				}
				if got, want := state(cut), state(whole.ledger); got != want {
					t.Errorf("got\n%swant\n%s", got, want)
				}
				// behind its page, every change is checked again
				r := cut.Next(whole.writer, 0)
				r.GetCommit().Changes = []*journal.Change{released(one)}
				if err := cut.Read(99, r, never); !errors.Is(err, journal.ErrCorrupt) {
					t.Errorf("the second end of a lease: %v", err)
				}
			})
		}
	}
}
