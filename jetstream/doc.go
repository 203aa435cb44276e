// Package jetstream keeps the shards of a deployment in JetStream buckets, and runs the embedded NATS
// server. Nothing else in Holdfast knows how storage works.
//
// A [Deployment] is a fixed number of buckets, one for each shard. A [Bucket] is a log with one writer
// at a time: [Bucket.Append] stores a record at one exact place or says that it does not stand there,
// [Bucket.Replay] reads what is stored, in order, and [Bucket.Purge] removes what compaction has made
// superfluous. It refuses to guess: where it cannot find out whether a record was stored, it says so
// with [journal.ErrUnknown], and where it cannot read one it says [journal.ErrCorrupt] rather than
// pass it over.
//
// Nothing here decides who may write. Two writers of one bucket are safe: each append names the place
// behind the writer's own last one, so that the second to arrive is refused.
package jetstream
