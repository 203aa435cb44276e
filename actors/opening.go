package actors

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/holdfast-io/holdfast/actors/lease"
	"github.com/holdfast-io/holdfast/actors/ledger"
	"github.com/holdfast-io/holdfast/messages/journal"
)

// opening is what the attempts to open a shard have in common: an attempt that fails half-way is
// continued by the next one. It belongs to one attempt at a time.
type opening struct {
	// ledger is what has been read; nil if nothing has, or if what was read cannot be used.
	ledger *ledger.Ledger
	// reading is the position of the record that is being read, or was read last.
	reading uint64
	// furthest is the last position that was ever read, or appended here. A record counts as progress once, even if a
	// later attempt has to read it again.
	furthest uint64
	// records counts progress for other goroutines.
	records *atomic.Uint64
}

// attempt is run, whose panic is an error: all other shards of the node go on.
func (o *opening) attempt(
	ctx context.Context, cfg ShardConfig, writer *journal.Writer,
) (l *ledger.Ledger, former string, err error) {
	err = contain(cfg.Log, func() (err error) { // mutant: PanicOfAReplayEndsTheNode
		l, former, err = o.run(ctx, cfg, writer)
		return err
	})
	if errors.Is(err, errPanic) {
		o.ledger = nil
		err = fmt.Errorf("shard %d: position %d: %w", cfg.Shard, o.reading, err)
	}
	return l, former, err
}

// run reads the journal and takes the shard over: it appends a commit that says so right behind the last
// record. If another writer has appended meanwhile, it reads on and tries again. From then on the journal
// is never read again: the ledger is the state. former is the node that wrote the last record before.
func (o *opening) run(
	ctx context.Context, cfg ShardConfig, writer *journal.Writer,
) (_ *ledger.Ledger, former string, _ error) {
	if o.ledger == nil {
		o.ledger = ledger.New()
	}
	for {
		if err := o.replay(ctx, cfg); err != nil {
			return nil, "", err
		}
		l := o.ledger
		if err := isOpen(ctx, cfg, l.Closed()); err != nil {
			return nil, "", fmt.Errorf("shard %d: %w", cfg.Shard, err)
		}
		former = l.Head().Writer
		first, at := l.TakeOver(writer, cfg.Clock.Now().UnixMillis), l.Head().Position
		_, err := l.Stage(first.GetCommit(), nil)
		if err == nil {
			err = cfg.Journal.Append(ctx, at, first)
		}
		switch {
		case err == nil:
			o.furthest = at + 1
			return l, former, o.read(at+1, first)
		case !errors.Is(err, journal.ErrConflict):
			return nil, "", fmt.Errorf("shard %d: take over: %w", cfg.Shard, err)
		}
	}
}

// isOpen returns an error if a journal is closed: only the register of generations can say that this was given up.
func isOpen(ctx context.Context, cfg ShardConfig, closed *journal.Closed) error {
	switch {
	case closed == nil: // mutant: ClosedJournalIsOpened
		return nil
	case cfg.Voided == nil:
		return ErrClosed
	}
	return cfg.Voided(ctx, closed.GetGeneration())
}

// replay reads what the ledger does not have yet.
func (o *opening) replay(ctx context.Context, cfg ShardConfig) error {
	from := o.ledger.Head().Position
	last, err := cfg.Journal.Replay(ctx, from, o.read) // mutant: TailNotRead
	if err != nil {
		if errors.Is(err, journal.ErrCorrupt) || o.ledger.Head().Position == from {
			o.ledger = nil // it may have a part of the last record, or the journal is not the one it was read from
		}
		return fmt.Errorf("shard %d: replay: %w", cfg.Shard, err)
	}
	o.ledger.ReadTo(last)
	if err := o.ledger.Complete(); err != nil {
		o.ledger = nil
		return fmt.Errorf("shard %d: %w", cfg.Shard, err)
	}
	return nil
}

// read applies one record.
func (o *opening) read(position uint64, r *journal.Record) error {
	o.reading = position
	replayed := func(int) lease.Instant { return 0 } // leases restart when the shard is open
	// mutant: ReplayForgetsTheLastRequest, DelayNotReplayed
	if err := o.ledger.Read(position, r, replayed); err != nil {
		return err
	}
	if position > o.furthest {
		o.furthest = position
		o.records.Add(1)
	}
	return nil
}
