// Package journal describes what a shard's bucket stores: records, their keys and their order.
//
// A bucket holds [Commit] records, the journal of a shard, and [Page] records, checkpoints of a part of
// its resources. [Decode] reads one stored message, [Tail] checks that commits follow one another, and
// [Hash] assigns resources to pages. Nodes and readers of the journal share this package, so that both
// accept the same records. It reads and writes no storage.
package journal
