package actors

// State is where a shard is between its start and its end. It goes from Opening to Open, and back when the
// shard is lost and opened again; then from any of them to Draining and to Ended.
type State int32

// The states.
const (
	// Opening: the shard reads its journal and takes it over, or waits to try that again. Requests are
	// refused.
	Opening State = iota
	// Open: the shard serves.
	Open
	// Draining: the shard takes no more requests, and finishes those that it has: it is being closed or
	// handed over, or another writer has deposed it.
	Draining
	// Ended: no request is on its way any more, and none will be. Another node may open the shard.
	// [Shard.Close] frees the rest of its resources.
	Ended
)

// String implements fmt.Stringer.
func (s State) String() string { return [...]string{"opening", "open", "draining", "ended"}[s] }
