package actors

import "github.com/holdfast-io/holdfast/actors/lease"

// Epoch returns the epoch of the shard's last opening, 0 before the first. It is set before the state is
// [Open].
func (s *Shard) Epoch() uint64 { return s.epoch.Load() }

// Progress returns how many records of its journal the shard has read in order to open. It grows as long
// as the opening progresses: a record that a later attempt reads again is not counted again.
func (s *Shard) Progress() uint64 { return s.records.Load() }

// Unconfirmed returns since when an append of the open shard awaits its confirmation; [lease.Never]: none does.
func (s *Shard) Unconfirmed() lease.Instant { return lease.Instant(s.unconfirmed.Load()) }

// lasts reports whether the shard has decided nothing for [LastingAfter].
func (s *Shard) lasts() bool {
	since := min(s.Unconfirmed(), lease.Instant(s.closed.Load()))
	return since != lease.Never && s.cfg.Clock.Now().Sub(since) >= LastingAfter
}

// Confirmed returns when the last append began that the journal has confirmed; [lease.Never]: none was.
func (s *Shard) Confirmed() lease.Instant { return lease.Instant(s.confirmed.Load()) }

// LateTokens returns how many grants had a token at or above messages.WarnToken.
func (s *Shard) LateTokens() uint64 { return s.lateTokens.Load() }

// EventCounts is how far a shard has come with its events.
type EventCounts struct {
	// Published counts events. An event that was published twice counts twice.
	Published uint64
	// Behind counts the commits that have yet to be published, Lost those that never will be.
	Behind, Lost uint64
}

// Events returns how far the shard has come with its events.
func (s *Shard) Events() EventCounts {
	c := EventCounts{Published: s.eventCounts.Published(), Lost: s.eventCounts.Lost()}
	if p := s.publisher.Load(); p != nil {
		c.Behind = p.Behind()
	}
	return c
}
