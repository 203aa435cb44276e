package holdfast

import (
	"errors"
	"fmt"
	"time"
)

// ErrCompacted is every [CompactedError]: what a watch was to yield next is not in the journal any more.
var ErrCompacted = errors.New("journal compacted")

// CompactedError says that the journal does not go back to where a watch was to begin or to go on: the
// position is too old, or the reader too slow. Nothing was left out before. It wraps
// [ErrCompacted].
//
// To keep a table of the holders, begin again: Watch with [Present] and without [From]. To read what is left
// of the history, continue [From] Oldest; there is a gap before it.
type CompactedError struct {
	// Shard is the first of which something is missing.
	Shard uint32
	// Oldest is the oldest position there is in every shard of which something is missing, and in the
	// others where the watch was.
	Oldest Position
	// Begins is when the oldest change that is left in that shard may have been made, by the clock of
	// the node that made it.
	Begins time.Time
}

// Error returns one line for a person.
func (e *CompactedError) Error() string {
	return fmt.Sprintf(
		"holdfast: watch: %v: shard %d begins at %s now; "+
			"watch from the present holders, or go on from the oldest position, %v",
		ErrCompacted, e.Shard, e.Begins.Format(time.RFC3339), e.Oldest)
}

// Unwrap returns [ErrCompacted].
func (e *CompactedError) Unwrap() error { return ErrCompacted }
