// Package backup copies the state of a deployment into a file while nodes serve it, and a file into an empty
// deployment.
//
// The file has the resources of each shard at one position of its journal, see package archive. A restored deployment
// may have another number of shards: each resource goes to the shard that its key has there. The package reaches
// storage only through the interfaces that it declares. Its functions hold one shard in memory at a time.
package backup

import (
	"context"

	"github.com/holdfast-io/holdfast/messages/journal"
)

// Source is the journal of a shard, to be read.
type Source interface {
	// Replay passes every stored record behind the position to apply, in order, and returns the position of the last
	// record at the time of the call. Records that are purged meanwhile may be left out. It returns an error of apply.
	Replay(ctx context.Context, after uint64, apply func(position uint64, r *journal.Record) error) (last uint64,
		err error)
	// First returns the number of the oldest commit, 0 if there is none.
	First(ctx context.Context) (number uint64, err error)
	// End returns the position of the last record.
	End(ctx context.Context) (position uint64, err error)
}

// Target is the journal of a shard, to be filled.
type Target interface {
	// Append stores the record right behind the position. It returns nil once that is certain.
	Append(ctx context.Context, after uint64, r *journal.Record) error
}

// Progress is called as work proceeds, with the part that is done, from 0 to 1. It must return quickly.
type Progress func(done float64)
