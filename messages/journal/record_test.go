package journal_test

import (
	"testing"

	"github.com/holdfast-io/holdfast/messages"
	"github.com/holdfast-io/holdfast/messages/journal"
)

// A record has a new format only if it has what came with it: a block, a shortest hold, or the end of its journal. All
// others are read by former versions.
func TestFormatOfARecord(t *testing.T) {
	plain := &journal.Grant{Resource: "r", Owner: "o", Token: 5, Limit: 3, DelayMs: 1, Confirm: true, ExtendOrder: 1}
	one := &journal.Grant{Resource: "r", Owner: "o", Token: 5, Tokens: 1}
	block := &journal.Grant{Resource: "r", Owner: "o", Token: 5, Tokens: 2}
	hold := &journal.Grant{Resource: "r", Owner: "o", Token: 5, MinHoldMs: 1}
	commit := func(grants ...*journal.Grant) *journal.Record {
		c := &journal.Commit{Number: 1}
		for _, g := range grants {
			c.Changes = append(c.Changes, &journal.Change{Kind: messages.Event_RELEASED, Grant: g})
		}
		return &journal.Record{Body: &journal.Record_Commit{Commit: c}}
	}
	page := func(entries ...*journal.Entry) *journal.Record {
		return &journal.Record{Body: &journal.Record_Page{Page: &journal.Page{Entries: entries}}}
	}
	for name, tc := range map[string]struct {
		record *journal.Record
		want   uint32
	}{
		"no changes":            {commit(), 3},
		"a grant":               {commit(plain), 3},
		"one token":             {commit(one), 3},
		"a block":               {commit(block), 4},
		"a shortest hold":       {commit(hold), 4},
		"a block behind others": {commit(plain, one, block), 4},
		"a reservation":         {commit(nil), 3},
		"the end of a journal": {&journal.Record{Body: &journal.Record_Commit{Commit: &journal.Commit{
			Number: 7, Closed: &journal.Closed{Generation: 1, Shards: 4},
		}}}, 5},
		"an empty page":                   {page(), 3},
		"a page":                          {page(&journal.Entry{Grant: plain, Others: []*journal.Grant{one}}), 3},
		"a page with a block":             {page(&journal.Entry{Grant: plain}, &journal.Entry{Grant: block}), 4},
		"a page with a shortest hold":     {page(&journal.Entry{Grant: hold, State: messages.Event_RELEASED}), 4},
		"a page with a lost block":        {page(&journal.Entry{Lost: []*journal.Loss{{Grant: block}}}), 4},
		"a page with a lost shortest one": {page(&journal.Entry{Grant: plain, Lost: []*journal.Loss{{Grant: hold}}}), 4},
		"a page with a lost lease":        {page(&journal.Entry{Lost: []*journal.Loss{{Grant: plain}}}), 3},
		"a page with a shrunk block": {page(&journal.Entry{
			Grant: &journal.Grant{Resource: "r", Token: 9, Former: 5}, OwnerDigest: 1,
		}), 3},
	} {
		t.Run(name, func(t *testing.T) {
			tc.record.Format = 77
			if tc.record.SetFormat(); tc.record.GetFormat() != tc.want {
				t.Errorf("format %d, want %d", tc.record.GetFormat(), tc.want)
			}
			if _, _, err := journal.Encode(tc.record); err != nil {
				t.Error(err)
			}
		})
	}
}
