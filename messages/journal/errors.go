package journal

import "errors"

// The errors of appending and reading, for [errors.Is].
var (
	// ErrConflict: the record of another writer is at this record's position. The append had no effect
	// and never will, and its writer no longer owns the shard. The outcome is definite.
	ErrConflict = errors.New("another writer's record is at this position")
	// ErrNotStored: the record was not stored and never will be, for a reason other than another writer.
	// The outcome is definite.
	ErrNotStored = errors.New("not stored")
	// ErrUnknown: the record may be stored, may be stored later, or never. Only reading the bucket again
	// decides it.
	ErrUnknown = errors.New("outcome unknown")
	// ErrCorrupt: a stored record is malformed or contradicts the records before it. The error that wraps
	// it names the record.
	ErrCorrupt = errors.New("stored record cannot be read")
)
