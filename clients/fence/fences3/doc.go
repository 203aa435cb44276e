// Package fences3 guards objects of an S3-style store: a write shows the claim of a lease, and the claim of
// an ended lease is refused.
//
// The high-water mark of an object, the highest token that has written it, is in the object's metadata, as
// holdfast-fencing-token. Each object has its own mark: it refuses token 33 once it has itself seen 34, not
// when another object has. Where a lock protects several objects, write them under new names and guard
// only the object that names them.
//
// # Guarantee
//
// A write reads the mark and the ETag, checks the claim, and puts the object on the condition that it still
// has that ETag (If-Match), or that there is still none (If-None-Match). If another write came first, all
// of it starts again, until the context ends. Check, raise and write are that one conditional put, so that a
// crash cannot separate them. A write is as durable as a put that the store has confirmed.
//
// In most stores an ETag is a hash of the bytes alone: two writes of the same bytes have the same ETag, and
// a holder that was paused between reading and putting would miss the writes between. So the guard ends
// each body with a stamp, a line with the token, which makes the bytes of different tokens different.
// [Bucket.Get] removes the stamp; for other readers, the metadata holdfast-stamp has its length.
// [WithPlainBodies] leaves the stamp out, for a store that gives every write an ETag of its own.
// [Bucket.Modify] reads and writes in one such step. A holder that reads, and puts later, can lose a change: there is
// no other way to show the token of an object before it is read.
//
// [Bucket.Delete] leaves a tombstone, because a deletion would forget the mark: an object with only mark
// and stamp, which listings show, and whose metadata has holdfast-deleted. Remove a tombstone only when each
// earlier holder has noticed the loss of its lock.
//
// # Requirements of the store
//
// It refuses a put whose condition does not hold, and answers a read with an ETag that is not newer than
// the metadata beside it. Amazon S3 does; some stores ignore conditions silently. [Bucket.Verify] finds out, by
// [fence.ErrUnfit]; call it when a program starts.
//
// On AWS the guard needs s3:GetObject, s3:PutObject and s3:ListBucket, without which a missing object
// is reported as forbidden. Verify needs s3:DeleteObject too.
//
// # Errors
//
// After [fence.ErrStale] nothing was written. After [fence.ErrUnknown], such as a timeout, the object may
// have been written; after any other error it was not. Repeating the write with the same claim is safe under
// [fence.Repeatable]: it may happen twice, with the same bytes, but not after the write of a higher token.
// Under [fence.Once] the repetition is [fence.ErrSpent] if the first try succeeded. The SDK repeats writes by
// itself, which would make a refusal uncertain; the guard lets it repeat only throttled writes.
//
// # Not protected
//
// A write without the guard is not refused and can remove the mark: a plain put or copy, a multipart
// upload, a real deletion, a lifecycle rule, the restoration of a version. Replicas in other buckets are
// late; write to one bucket only. Encryption with keys of the caller (SSE-C) is not supported.
package fences3
