// Package ledger holds the confirmed state of a shard: what its journal says about every resource.
//
// A [Ledger] reads the records of a bucket in their order, in replay and in live work alike, and refuses
// records that contradict one another. Resources are kept in pages; a [Checkpoint] stores those that have
// changed, so that old commits may be purged, and forgets resources that have been free for long. The
// tokens of forgotten resources raise the low-water mark, so no token is issued twice.
//
// The package is pure: it reads no clock and no storage, and starts no goroutine. A Ledger belongs to one
// goroutine.
package ledger
