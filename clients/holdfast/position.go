package holdfast

import "github.com/holdfast-io/holdfast/clients/holdfast/internal/watch"

// Position is how far a [Client.Watch] has come in the journal of every shard that its pattern can touch, so
// that a later one can continue [From] there: with a pattern that touches the same shards, also another
// one. Its text is short, and every value survives text and JSON. The zero Position is none. It is immutable
// and safe for concurrent use.
type Position = watch.Position

// ParsePosition reads what [Position.String] writes. It is [ErrInvalid] if s is anything else; empty is
// the zero Position.
func ParsePosition(s string) (Position, error) { return watch.ParsePosition(s) }
