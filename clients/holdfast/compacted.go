package holdfast

import "github.com/holdfast-io/holdfast/clients/holdfast/internal/watch"

// ErrCompacted is every [CompactedError]: what a watch was to yield next is not in the journal any more.
var ErrCompacted = watch.ErrCompacted

// CompactedError says that the journal does not go back to where a watch was to begin or to go on: the
// position is too old, or the reader too slow. Nothing was left out before. Shard is the first of which something is
// missing, Oldest the oldest position that is left, and Begins when the oldest change that is left in Shard may have
// been made, by the clock of the node that made it. In shards of which nothing is missing, Oldest is where the watch
// was; in those of a later generation, behind a change of the number of shards, it is where that begins.
//
// To keep a table of the holders, begin again: Watch with [Present] and without [From]. To read what is left
// of the history, continue [From] Oldest; there is a gap before it.
type CompactedError = watch.CompactedError
