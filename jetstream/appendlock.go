package jetstream

import "context"

// appendLock serializes the appends of a bucket with changes of its leader. A leader that steps down drops an
// append without an answer, and the sender would only find out by a timeout.
type appendLock chan struct{}

func newAppendLock() appendLock { return make(appendLock, 1) }

// lock waits for the lock. After an error it is not held.
func (l appendLock) lock(ctx context.Context) error {
	select {
	case l <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (l appendLock) unlock() { <-l }
