package holdfast

import "github.com/holdfast-io/holdfast/clients/holdfast/internal/watch"

// Position is how far a [Client.Watch] has come in the journal of every shard that its pattern can touch, so
// that a later one can continue [From] there: with a pattern that touches the same shards, also another
// one. That the deployment has another number of shards since changes nothing: the watch reads the former journals to
// their ends, and then the present ones. Its text is short, and every value survives text and JSON: 0:17,1:99.2, and
// behind a change of the number of shards the generation before it, 1/0:17,1:99.2. The zero Position is none. It is
// immutable and safe for concurrent use.
type Position = watch.Position

// ParsePosition reads what [Position.String] writes. It is [ErrInvalid] if s is anything else; empty is
// the zero Position.
func ParsePosition(s string) (Position, error) { return watch.ParsePosition(s) }
