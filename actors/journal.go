package actors

import (
	"context"

	"github.com/holdfast-io/holdfast/messages/journal"
)

// Journal is a shard's bucket: a log of records, each at a position, with one writer that proves
// with every append that it is still the only one. Its methods are called one at a time, but that
// Purge may run beside an Append, and Replay beside both.
type Journal interface {
	// Replay hands every stored record behind position after to apply, in order, and returns the
	// position of the last one that there was when it was called. It may miss the newest records;
	// the next Append shows that. An error of apply ends it and is returned.
	Replay(
		ctx context.Context, after uint64, apply func(position uint64, r *journal.Record) error,
	) (last uint64, err error)

	// Append stores the record right behind position after and nowhere else, and returns nil once
	// that is certain. [journal.ErrConflict]: certainly not stored, another writer's record stands
	// there, so this writer is deposed. [journal.ErrNotStored]: certainly not stored, for another
	// reason. Any other error leaves the outcome unknown.
	Append(ctx context.Context, after uint64, r *journal.Record) error

	// Purge removes the pages of these names, and then the commits up to position through, though
	// never the newest one. In that order: what those commits changed, a page that is superseded
	// does not have. It is house-keeping: nothing depends on its success.
	Purge(ctx context.Context, through uint64, pages []string) error
}
