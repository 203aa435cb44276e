// Package fences3 guards objects of an S3-style store: a write shows the claim of a lease, and is refused
// if the time of that lease has passed.
//
// The mark of an object, the highest token that has written it, stands in the object's own metadata, as
// holdfast-fencing-token. So each object has its own mark: it refuses token 33 once it has itself seen
// 34, not when another object has. A lock that protects several objects needs one that names the others,
// and only that one is written under the guard.
//
// # What is atomic
//
// A write reads the mark and the ETag, checks the claim, and puts the object on the condition that it
// still has that ETag (If-Match), or that there is still none (If-None-Match). If somebody was faster,
// all of it begins again, until the context ends. Check, raising and write are that one conditional
// put: nothing can crash in between.
//
// In most stores an ETag is a hash of the bytes alone, so two writes of the same bytes have the same
// one, and a holder that was paused between reading and putting would not notice the writes between.
// Therefore the guard ends each body with a stamp, a line with the token, which makes the bytes of
// different tokens different. [Bucket.Get] takes it off; other readers find, in the metadata
// holdfast-stamp, how many bytes at the end are not the caller's. With [WithPlainBodies] there is no
// stamp, which only a store with an ETag for every write allows.
//
// The store must refuse a put whose condition does not hold, and must answer a read with an ETag that is
// not newer than the metadata beside it. Amazon S3 does; others ignore conditions without a word.
// [Bucket.Verify] finds out; call it at the start of a program.
//
// On AWS the guard needs s3:GetObject, s3:PutObject and s3:ListBucket, for without the last one a missing
// object is a forbidden one; Verify needs s3:DeleteObject, too.
//
// # What is unknown
//
// A refused write is a [fence.StaleError], and nothing was written. After [fence.ErrUnknown], such as a
// timeout, the object may have been written; with any other error it was not. Repeating the write with the same claim is safe under
// [fence.Repeatable]: it may happen twice, with the same bytes, but not after the write of a higher
// token. Under [fence.Once] the repetition is refused as spent if the first try had succeeded. The SDK
// repeats writes on its own, after which no refusal would be certain; so the guard lets it repeat only
// what the store has throttled.
//
// A write is as durable as the store makes a put that it has confirmed.
//
// # What it does not protect
//
// Whoever writes past the guard is not refused, and can take the mark away: a plain put or copy, a
// multipart upload, a real deletion, a lifecycle rule, the restoring of a version. [Bucket.Delete]
// leaves a tombstone, because a deletion would forget the mark: an object with nothing but mark and
// stamp, which listings still show, and whose metadata has holdfast-deleted. Clear tombstones away only
// when no holder can be left that has not noticed the loss of its lock. Replicas in other buckets lag
// behind; guard one, and write there only. Encryption with keys that the caller provides (SSE-C) is not
// supported.
package fences3
