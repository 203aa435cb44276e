package actors

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"

	"github.com/holdfast-io/holdfast/actors/lease"
	"github.com/holdfast-io/holdfast/messages"
)

// open reads the whole journal and takes the shard over: it appends a commit that says so right
// behind the last record. If somebody else has written meanwhile, it reads on and tries again.
// From then on the journal is never read again: the ledger is the state.
func open(ctx context.Context, cfg ShardConfig, writer *messages.Writer) (*ledger, error) {
	l := newLedger()
	replayed := func(int) lease.Instant { return 0 } // leases start afresh when the shard is open
	read := func(position uint64, r *messages.Record) error { return l.read(position, r, replayed) }
	for {
		last, err := cfg.Journal.Replay(ctx, l.position, read)
		if err != nil {
			return nil, fmt.Errorf("shard %d: replay: %w", cfg.Shard, err)
		}
		l.position = max(l.position, last)
		if err := l.complete(); err != nil {
			return nil, fmt.Errorf("shard %d: %w", cfg.Shard, err)
		}
		opened := l.next(writer, cfg.Clock.Now().UnixMillis)
		opened.GetCommit().Opened = true
		opened.GetCommit().Epoch++
		err = cfg.Journal.Append(ctx, l.position, opened)
		switch {
		case err == nil:
			return l, read(l.position+1, opened)
		case !errors.Is(err, messages.ErrConflict):
			return nil, fmt.Errorf("shard %d: take over: %w", cfg.Shard, err)
		}
	}
}

// next is the commit that follows the last one, still without changes.
func (l *ledger) next(writer *messages.Writer, unixMillis int64) *messages.Record {
	return &messages.Record{Format: messages.RecordFormat, Body: &messages.Record_Commit{
		Commit: &messages.Commit{
			Epoch: l.epoch, Number: l.number + 1, Writer: writer, AtMs: unixMillis, Published: l.published,
		},
	}}
}

func newWriter(node string) *messages.Writer {
	return &messages.Writer{Node: node, Incarnation: rand.Uint64()}
}
