package ask

import (
	"fmt"
	"iter"

	"google.golang.org/protobuf/proto"

	"github.com/holdfast-io/holdfast/messages"
)

// Pages returns the pages of a listing, of which request returns one. They have limit leases together, without a limit
// if that is 0; the last page has a cursor if more are left. An error is the last thing that it yields.
func Pages(
	of *messages.ListRequest, limit int, request func(*messages.ListRequest) (*messages.ListReply, error),
) iter.Seq2[*messages.ListReply, error] {
	return func(yield func(*messages.ListReply, error) bool) {
		next := proto.CloneOf(of)
		for left := limit; ; {
			next.Limit = messages.MaxListLimit
			if limit > 0 {
				next.Limit = uint32(min(left, int(messages.MaxListLimit)))
			}
			page, err := request(next)
			if err != nil {
				yield(nil, err)
				return
			}
			page.Leases = page.GetLeases()[:min(len(page.GetLeases()), int(next.GetLimit()))]
			left -= len(page.GetLeases())
			switch {
			case !yield(page, nil), page.GetNext() == "", limit > 0 && left <= 0:
				return
			case page.GetNext() == next.GetAfter():
				yield(nil, fmt.Errorf("the node returned the same page twice: cannot continue after %s",
					messages.QuoteResource(page.GetNext())))
				return
			}
			next.After = page.GetNext()
		}
	}
}
