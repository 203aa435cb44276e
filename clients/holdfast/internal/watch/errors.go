package watch

import (
	"errors"
	"fmt"
	"time"

	"github.com/holdfast-io/holdfast/messages"
)

// Error says why a journal cannot be read. It unwraps to Cause.
type Error struct {
	// Invalid: what was asked for breaks a rule. If it is false, the journal is not available.
	Invalid bool
	Cause   error
}

// Error returns the cause.
func (e *Error) Error() string { return e.Cause.Error() }

// Unwrap returns Cause.
func (e *Error) Unwrap() error { return e.Cause }

func unavailable(cause error) error { return &Error{Cause: cause} }

func invalid(field, rule, got string) error {
	return &Error{Invalid: true, Cause: messages.Invalid(field, rule, got)}
}

// errAgain says that the same question may be answered if it is asked again.
var errAgain = errors.New("journal interrupted")

// ErrCompacted is documented as holdfast.ErrCompacted.
var ErrCompacted = errors.New("journal compacted")

// CompactedError is documented as holdfast.CompactedError.
type CompactedError struct {
	// Shard is the first of which something is missing.
	Shard uint32
	// Oldest is the oldest position there is in every shard of which something is missing, and in the
	// others where the watch was.
	Oldest Position
	// Begins is when the oldest change that is left in that shard may have been made, by the clock of
	// the node that made it.
	Begins time.Time

	cursor Cursor
	// begins: what is missing was made before the generation of shards began.
	begins bool
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

func compacted(shard messages.Shard, oldest *stored) *CompactedError {
	return &CompactedError{
		Shard: shard.Number, Begins: oldest.at(), cursor: Cursor{shard: shard.Number, number: oldest.GetNumber() - 1},
	}
}
