package journal

import "errors"

// The outcomes of an append and of reading, for [errors.Is].
var (
	// ErrConflict is certain: another writer's record stands where ours should, so the writer has
	// been deposed and has written nothing. It is never returned for an outcome that is unknown.
	ErrConflict = errors.New("another writer's record stands there")
	// ErrNotStored is certain as well: the record was not stored and will not be, for another reason
	// than another writer.
	ErrNotStored = errors.New("not stored")
	// ErrUnknown leaves open whether a record was stored: it may stand in the bucket already, come to
	// stand there later, or never. Only reading the bucket again tells.
	ErrUnknown = errors.New("outcome unknown")
	// ErrCorrupt says that a stored record cannot be read; the error that wraps it names the record.
	ErrCorrupt = errors.New("stored record cannot be read")
)
