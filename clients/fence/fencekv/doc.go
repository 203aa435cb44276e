// Package fencekv guards the entries of a JetStream key-value bucket: each write shows the claim of a
// lease, and a claim whose time has passed is refused.
//
// The entry of a resource stands at the key of that resource, as [messages.EncodeKey] writes it, and is
// protected by the lock of the same name. Beside the value, in a header of the same message, stands the
// mark: the highest token that was accepted. What reads the bucket without this package, such as
// nats kv get, sees the value alone, byte for byte; no value can be taken for a mark.
//
// # What is atomic
//
// A write reads the entry, checks the claim against its mark, and publishes value and mark as one
// message on the condition that the entry is still the one that was read. If it is not, all of it begins
// again. So check, raising and write are one step, for a single entry; there is none over several. What
// is read may be old, for any replica may answer: then the condition fails, which costs a round, and a
// mark that is old is a lower one, which refuses nobody who should pass.
//
// A write returns when JetStream has confirmed it, and is as durable as that. With sync_interval: always
// a single server has it on disk; by default that is up to two minutes later, and if the machine crashes
// before, the newest marks are lost with their values, and an old holder can pass.
//
// After [fence.ErrUnknown], such as a timeout, it is unknown whether the entry was written. With any
// other error nothing was: nats.go sends a write again only if no server has taken it. The same write may be repeated: it can take effect twice, with the same value, but not after
// the write of a higher token, because its condition fails then. Under [fence.Once] the repetition is
// refused as spent if the first try had succeeded.
//
// A deleted entry leaves its mark behind, as an entry without a value. It is no delete marker of
// JetStream, because those are cleared away by PurgeDeletes, with the mark. Other readers see an empty
// value there.
//
// # What it does not protect
//
// Whoever writes past the guard is not refused, so let nobody else publish below $KV.<bucket>. What was
// written so is noticed afterwards, and left alone: [fence.ErrMalformed], until [Bucket.Adopt]. To purge or to
// delete the stream is to forget marks, and cannot be noticed. A bucket that forgets by itself, by age, by
// dropping old entries or by being in memory, is refused when it is opened.
//
// Marks are never removed: a resource that was written once takes some hundred bytes for ever.
//
// A [Bucket.Get] after a write sees it if the stream has one replica, or if AllowDirect is off, which
// makes its leader answer. Otherwise, as nats.go makes buckets, it may see an older entry.
package fencekv
