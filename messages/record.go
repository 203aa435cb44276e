package messages

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/cespare/xxhash/v2"
)

// RecordFormat is the newest format of a stored [Record] that this code writes and reads.
const RecordFormat = 1

// What the keys of a bucket begin with.
const (
	// CommitKeys are followed by the number of the commit.
	CommitKeys = "journal."
	// PageKeys are followed by the name of the page.
	PageKeys = "state."
)

// Key is where the record belongs in its bucket. A record without a body belongs nowhere, which is an error.
func (x *Record) Key() (string, error) {
	switch body := x.GetBody().(type) {
	case *Record_Commit:
		return CommitKeys + strconv.FormatUint(body.Commit.GetNumber(), 10), nil
	case *Record_Page:
		return PageKeys + body.Page.Name(), nil
	default:
		return "", errors.New("record holds neither a commit nor a page")
	}
}

// Hash spreads resources over the pages of a shard. It is part of the stored format.
func Hash(resource string) uint64 { return xxhash.Sum64String(resource) }

// Covers reports whether the resource belongs on the page, if it is of the page's shard: whether its hash
// begins with the prefix.
func (p *Page) Covers(resource string) bool {
	return Hash(resource)>>(64-p.GetDepth()) == uint64(p.GetPrefix())
}

// Name tells the page apart within its shard: "p" and the bits of its prefix, so that the name of
// a page begins with the name of every page that it was split from.
func (p *Page) Name() string {
	return PageName(p.GetPrefix(), p.GetDepth())
}

// PageName is the name of the page for the first depth bits of the hash being prefix.
func PageName(prefix, depth uint32) string {
	if depth == 0 {
		return "p"
	}
	return fmt.Sprintf("p%0*b", depth, prefix)
}

// Describe names the record for logs and errors, without its content.
func (x *Record) Describe() string {
	var b strings.Builder
	switch body := x.GetBody().(type) {
	case *Record_Commit:
		fmt.Fprintf(&b, "commit %d of epoch %d", body.Commit.GetNumber(), body.Commit.GetEpoch())
	case *Record_Page:
		fmt.Fprintf(&b, "page %s at commit %d", body.Page.Name(), body.Page.GetNumber())
	default:
		b.WriteString("record without a body")
	}
	return b.String()
}
