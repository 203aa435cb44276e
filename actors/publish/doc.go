// Package publish turns confirmed commits of a shard into events and publishes them, in order and at
// least once.
//
// A [Publisher] takes commits from the shard without blocking it. What does not fit into its memory it
// reads from the journal, so no event is lost while its commit is there. [Publisher.Through] is the
// watermark: the shard records it in its commits, and the next owner goes on from there.
package publish
