// Package fencekv guards the entries of a JetStream key-value bucket: each write shows the claim of a
// lease, and the claim of an ended lease is refused.
//
// The entry of a resource is at the key of that resource, as [messages.EncodeKey] writes it, and the lock
// of the same name protects it. The high-water mark, the highest token that was accepted, is in a header
// of the same message. Other readers of the bucket, such as nats kv get, see the value alone, byte for byte.
//
// # Guarantee
//
// A write reads the entry, checks the claim against its mark, and publishes value and mark as one
// message on the condition that the entry is unchanged. Otherwise it starts again. Check, raise and write
// are one step for a single entry, not for several. A replica may answer the read with an old entry: then
// the condition fails, which costs a round. An old mark is a lower one and refuses no valid claim.
//
// A deleted entry keeps its mark, as an entry without a value. It is not a delete marker of JetStream, which
// PurgeDeletes would remove together with the mark. Other readers see an empty value.
//
// A write returns when JetStream has confirmed it. A [Bucket.Get] after a write sees it if the stream has
// one replica or AllowDirect off. Otherwise, as nats.go makes buckets, it may see an older entry.
//
// # Requirements of the store
//
// The bucket is stored in files, without a TTL and without a limit that drops old entries. [Open] refuses
// another one with [fence.ErrUnfit]. Set sync_interval: always on a single server: by default JetStream
// syncs up to two minutes after it confirms, and a crash of the machine then loses the newest marks
// with their values, so that an old holder can pass. Marks are never removed: a resource that was written
// once takes some hundred bytes.
//
// # Errors
//
// After [fence.ErrUnknown], such as a timeout, the entry may have been written. After any other error it was
// not: nats.go sends a write again only if no server has taken it. The same write may be repeated: it can take
// effect twice, with the same value, but not after the write of a higher token. Under [fence.Once] the
// repetition is [fence.ErrSpent] if the first try succeeded. An entry that was written without the guard
// is [fence.ErrMalformed] until [Bucket.Adopt].
//
// # Not protected
//
// A writer without the guard is not refused: restrict the permission to publish below $KV.<bucket>. Its
// write is detected afterwards. Purging or deleting the stream forgets marks and cannot be detected.
package fencekv
