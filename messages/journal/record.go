package journal

import "fmt"

// Format is the newest format of a stored [Record] that this code writes and reads.
//
//   - 1: every lease is exclusive
//   - 2: leases may be shared
//   - 3: leases may have a secret, their metadata may change, and a lost lease may hold its resource back
const Format = 3

// Name identifies the page within its shard: "p" and the bits of its prefix. So the name of a page begins
// with the names of all pages that it was split from.
func (p *Page) Name() string {
	return PageName(p.GetPrefix(), p.GetDepth())
}

// PageName returns the name of the page of all resources whose hash has prefix as its first depth bits.
func PageName(prefix, depth uint32) string {
	if depth == 0 {
		return "p"
	}
	return fmt.Sprintf("p%0*b", depth, prefix)
}

// Describe names the record for logs and errors, without its content.
func (x *Record) Describe() string {
	switch body := x.GetBody().(type) {
	case *Record_Commit:
		return fmt.Sprintf("commit %d of epoch %d", body.Commit.GetNumber(), body.Commit.GetEpoch())
	case *Record_Page:
		return fmt.Sprintf("page %s at commit %d", body.Page.Name(), body.Page.GetNumber())
	}
	return "record without a body"
}
