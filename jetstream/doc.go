// Package jetstream stores the shards of a deployment in JetStream buckets.
//
// A [Deployment] is a fixed number of buckets, one for each shard. A [Bucket] is a log with one writer
// at a time: [Bucket.Append] stores a record at one exact position or reports that it is not stored there,
// [Bucket.Replay] reads the stored records in order, and [Bucket.Purge] removes what compaction has made
// obsolete. It never guesses: if it cannot find out whether a record was stored, it returns
// [journal.ErrUnknown], and a record that it cannot read is a [journal.ErrCorrupt].
//
// Nothing here decides who may write. Two writers of one bucket are safe: each append names the position
// behind the writer's own last one, so the append that arrives second is refused.
//
// A [Leadership] moves the leadership of buckets to the node that owns their shards. The NATS server in this
// process is in jetstream/embedded, connections to others are in jetstream/natsconn, the members of a cluster
// in jetstream/members, and the retained events in jetstream/eventlog.
package jetstream
