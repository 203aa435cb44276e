package backup

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/holdfast-io/holdfast/actors/lease"
	"github.com/holdfast-io/holdfast/actors/ledger"
	"github.com/holdfast-io/holdfast/messages/archive"
	"github.com/holdfast-io/holdfast/messages/journal"
)

// attempts bounds how often a shard is read from its beginning, because compactions have purged what was not read yet.
// Each compaction retains thousands of commits, so one repetition is rare.
const attempts = 10

// Copy writes a backup of the header's shards to w. Header.AtMs is the present time. It does not disturb the owners of
// the shards. [journal.ErrCorrupt] says that a journal cannot be read, also not by a node.
func Copy(ctx context.Context, w io.Writer, h *archive.Header, source func(shard uint32) Source,
	progress Progress) (*Contents, error) {
	out, err := archive.NewWriter(w, h)
	if err != nil {
		return nil, err
	}
	c := &Contents{Header: h}
	for shard := range h.GetShards() {
		part := func(read, written float64) {
			progress((float64(shard) + (read+written)/2) / float64(h.GetShards()))
		}
		l, err := Read(ctx, source(shard), func(done float64) { part(done, 0) })
		if err != nil {
			return nil, fmt.Errorf("shard %d: %w", shard, err)
		}
		if err := c.copyShard(out, shard, l, func(done float64) { part(1, done) }); err != nil {
			return nil, err
		}
	}
	return c, out.Close()
}

func (c *Contents) copyShard(out *archive.Writer, shard uint32, l *ledger.Ledger, progress Progress) error {
	head := l.Head()
	s := &archive.Shard{Shard: shard, Position: head.Position, Number: head.Number, Epoch: head.Epoch}
	c.addShard(s)
	if err := out.Shard(s); err != nil {
		return err
	}
	for r := range l.Pages() {
		c.addPage(r.GetPage())
		if err := out.Page(r.GetPage()); err != nil {
			return err
		}
		progress(through(r.GetPage()))
	}
	return nil
}

// Read reads a shard up to its end, though its owner may append and purge meanwhile.
func Read(ctx context.Context, j Source, progress Progress) (l *ledger.Ledger, err error) {
	for range attempts {
		l, err = readOnce(ctx, j, progress)
		if !errors.Is(err, journal.ErrCorrupt) {
			break
		}
	}
	return l, err
}

// readOnce returns [journal.ErrCorrupt] if commits were purged before they were read, and if the journal is corrupt.
//
// Commits follow one another without a gap, and a page names the commit before it. But a page that has no commit before
// it in the bucket does not show how many there were: if it was read, a later page takes its place, and a purge removes
// the commits between the two, then the journal looks as if it began behind them. So the oldest commit is looked up
// first. What was purged by then is in pages that stand before the end. What was not has to be read.
//
// So what was read is complete if it has all commits from that one on, and the last record of the bucket. That record
// may be gone, replaced by a later one; then the reading goes on.
func readOnce(ctx context.Context, j Source, progress Progress) (*ledger.Ledger, error) {
	first, err := j.First(ctx)
	if err != nil {
		return nil, err
	}
	end, err := j.End(ctx)
	if err != nil {
		return nil, err
	}
	l := ledger.New()
	for {
		from := l.Head().Position
		last, err := j.Replay(ctx, from, func(position uint64, r *journal.Record) error {
			progress(min(float64(position)/float64(max(end, 1)), 1))
			return l.Read(position, r, func(int) lease.Instant { return 0 })
		})
		if err != nil {
			return nil, err
		}
		if begins := l.First(); begins > max(first, 1) {
			return nil, fmt.Errorf("%w: its oldest commit was %d, and %d is the first that was read",
				journal.ErrCorrupt, first, begins)
		}
		missing, isRead := l.Complete(), l.Head().Position == last
		if isRead && missing == nil || last == from { // mutant: BackupMissesWhatWasCompacted
			return l, missing
		}
		l.ReadTo(last)
	}
}
