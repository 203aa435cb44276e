package holdfast

import (
	"strconv"

	"github.com/holdfast-io/holdfast/messages"
)

// Shared asks for a lock that others may hold at the same time if theirs is shared, too: the reader of a
// readers-writer lock, whose writer acquires without it. One queue serves both, first come first served, so writers do
// not starve.
func Shared() AcquireOption {
	return func(o *acquireOptions) { o.shared, o.permits, o.limit = true, 1, anyLimit }
}

// Permits asks for n permits, 1 to 1 000, as of a semaphore: while the lock is held, no more than limit are, its own
// and those of all other holders together. Each holder states its own limit, and the lowest of them counts. Limit 1 is
// an exclusive lock.
func Permits(n, limit int) AcquireOption {
	return func(o *acquireOptions) { o.counted, o.permits, o.limit = true, int64(n), int64(limit) }
}

// checkPermits refuses what the message could not carry; the contract has the other rules.
func (o *acquireOptions) checkPermits() error {
	switch {
	case !o.counted:
		return nil
	case o.shared:
		return rule("Shared and Permits", "one of them: a shared lock has no limit, and permits have one", "both")
	case o.limit < 1 || o.limit > anyLimit:
		return rule("limit", "1 to "+strconv.FormatInt(anyLimit, 10), strconv.FormatInt(o.limit, 10))
	case o.permits < 1 || o.permits > messages.MaxPermits:
		return rule("permits", "1 to "+strconv.Itoa(messages.MaxPermits), strconv.FormatInt(o.permits, 10))
	}
	return nil
}
