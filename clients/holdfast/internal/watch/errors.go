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

// CompactedError says that commits which are to come next have been purged.
type CompactedError struct {
	// Shard is the first of which commits are missing.
	Shard uint32
	// Oldest is before the oldest commit of each shard of which commits are missing, and in the others
	// where the loop was.
	Oldest Position
	// Begins is when the oldest commit of Shard was written.
	Begins time.Time

	cursor Cursor
}

// Error returns one line.
func (e *CompactedError) Error() string {
	return fmt.Sprintf("shard %d begins behind commit %d", e.Shard, e.cursor.number)
}

func compacted(shard uint32, oldest *stored) *CompactedError {
	return &CompactedError{
		Shard: shard, Begins: oldest.at(), cursor: Cursor{shard: shard, number: oldest.GetNumber() - 1},
	}
}
