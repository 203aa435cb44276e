package publish

import (
	"context"
	"sync/atomic"

	"github.com/holdfast-io/holdfast/messages/journal"
)

// backlogCommits and backlogBytes bound the commits that wait in memory. The others are read from the
// journal.
const (
	backlogCommits = 1024
	backlogBytes   = 8 << 20
)

// Commit is a confirmed commit.
type Commit struct {
	// Position is where it stands in the journal.
	Position uint64
	Commit   *journal.Commit
	// Bytes estimates its size.
	Bytes int
}

// backlog hands commits from the shard's goroutine to the publisher's. Neither waits for the other.
type backlog struct {
	queue chan Commit
	bytes atomic.Int64 // in queue
	// missed: the journal has a commit that the queue has not.
	missed atomic.Bool
}

func newBacklog() backlog { return backlog{queue: make(chan Commit, backlogCommits)} }

// offer puts a commit into the queue, or notes that it has to be read.
func (b *backlog) offer(c Commit) {
	if b.bytes.Add(int64(c.Bytes)) <= backlogBytes {
		select {
		case b.queue <- c:
			return
		default:
		}
	}
	b.bytes.Add(-int64(c.Bytes))
	b.missed.Store(true)
}

// close says that no more commits will come.
func (b *backlog) close() { close(b.queue) }

// receive waits for a commit, and calls take with it and with those behind it, until take returns false. It
// reports whether more can come.
func (b *backlog) receive(ctx context.Context, take func(Commit) (more bool)) bool {
	if ctx.Err() != nil {
		return false // even if the queue has commits
	}
	select {
	case c, open := <-b.queue:
		more := open
		for open && b.pass(c, take) {
			select {
			case c, open = <-b.queue: // if it is closed, the next call finds that
			default:
				open = false
			}
		}
		return more
	case <-ctx.Done():
		return false
	}
}

func (b *backlog) pass(c Commit, take func(Commit) bool) bool {
	b.bytes.Add(-int64(c.Bytes))
	return take(c)
}
