package actors

// Standing is where a shard stands between its start and its end. It goes from Opening to Open, and
// back when the shard is lost and opened again; Leaving and Ended come last.
type Standing int32

// The standings.
const (
	// Opening: it reads its journal and takes it over, or waits to try that again. Requests are refused.
	Opening Standing = iota
	// Open: it serves.
	Open
	// Leaving: it takes no more requests, and sees to those that it has: it is being closed or handed
	// over, or another writer has deposed it.
	Leaving
	// Ended: nothing is on its way any more, and nothing ever will be. Another may open the shard.
	// [Shard.Close] frees what is left of it.
	Ended
)

// String implements fmt.Stringer.
func (s Standing) String() string {
	switch s {
	case Opening:
		return "opening"
	case Open:
		return "open"
	case Leaving:
		return "leaving"
	case Ended:
		return "ended"
	default:
		return "unknown"
	}
}

// Standing returns where the shard stands.
func (s *Shard) Standing() Standing { return Standing(s.standing.Load()) }

// Epoch returns the epoch of the shard's last opening, 0 before the first. It is set before the
// standing is [Open].
func (s *Shard) Epoch() uint64 { return s.epoch.Load() }

// stand sets the standing, and tells whoever wants to know. It belongs to the shard's goroutine.
func (s *Shard) stand(now Standing) {
	if s.Standing() == Ended {
		return
	}
	if Standing(s.standing.Swap(int32(now))) != now && s.cfg.Changed != nil {
		s.cfg.Changed()
	}
}
