package assignment

import (
	"time"

	"github.com/holdfast-io/holdfast/actors"
	"github.com/holdfast-io/holdfast/actors/lease"
)

const (
	// openTimeout is how long an opening may go without progress before another node should try. Its whole duration
	// does not matter: another node would have to read the same records from the start.
	openTimeout = 10 * time.Second
	// backoffFirst is how long a node that was deposed leaves the shard alone: time to hear of the new owner. It
	// doubles, up to backoffMost, each time that the node is deposed before it has owned the shard for stableAfter:
	// two nodes that do not hear each other must not take a shard from one another for ever.
	backoffFirst = listenFor
	backoffMost  = 5 * time.Minute
	stableAfter  = 10 * time.Minute
)

// state is what a node knows of one shard on its own part.
type state struct {
	// shard is the node's own, from its opening to its end; nil if it has none.
	shard *actors.Shard
	// stopping: it is being handed over, or was deposed. transferring: so is the leadership of its bucket, and the
	// next owner opens the shard after that.
	stopping, transferring bool
	// opening is when its opening began; Never if it is not opening. opened is when it was opened; Never if it is
	// opening.
	opening, opened lease.Instant
	// records is how many were read while it is opening, progressed when that last grew, and logged when the log last
	// said so.
	records            uint64
	progressed, logged lease.Instant
	// unowned is since when no node is known to have the shard; Never if one is.
	unowned lease.Instant
	// backoff is until when the node leaves the shard alone, failing until when it is not assigned to the node unless
	// no other can open it.
	backoff, failing lease.Instant
	deposed          int
	// led is since when the node's NATS server has led the bucket; Never if it does not.
	led lease.Instant
	// endpoint: the shard's direct endpoint is open here.
	endpoint bool
}

func newState() *state {
	return &state{opening: lease.Never, opened: lease.Never, unowned: lease.Never, led: lease.Never}
}

// standing is the shard's, Ended if there is none. A shard that has ended counts as leaving until the leadership of
// its bucket has moved.
func (s *state) standing() actors.State {
	switch {
	case s.shard == nil:
		return actors.Ended
	case s.transferring:
		return min(s.shard.State(), actors.Draining)
	default:
		return s.shard.State()
	}
}

// observe notes the shard's standing and progress.
func (s *state) observe(now lease.Instant) {
	is := s.standing()
	s.opening = since(is == actors.Opening, s.opening, now)
	if records := s.progress(); s.opening == now || records != s.records {
		s.records, s.progressed = records, now
	}
	if is == actors.Open || is == actors.Opening {
		s.opened = since(is == actors.Open, s.opened, now)
	}
}

// progress returns how many records were read to open the shard.
func (s *state) progress() uint64 {
	if s.shard == nil {
		return 0
	}
	return s.shard.Progress()
}

// isStuck reports whether an opening has made no progress for too long.
func (s *state) isStuck(now lease.Instant) bool {
	return s.opening != lease.Never && now.Sub(s.progressed) >= openTimeout
}

// logsSlowOpening reports whether the log should mention a long opening now. It does so once in [openTimeout].
func (s *state) logsSlowOpening(now lease.Instant) bool {
	if s.opening == lease.Never || now.Sub(max(s.opening, s.logged)) < openTimeout {
		return false
	}
	s.logged = now
	return true
}

// depose notes that another writer has deposed the shard.
func (s *state) depose(now lease.Instant) {
	if hasLasted(s.opened, stableAfter, now) {
		s.deposed = 0
	}
	s.backoff = now.Add(min(backoffFirst<<min(s.deposed, 16), backoffMost))
	s.deposed++
}

// end notes that the shard has ended.
func (s *state) end() { s.shard, s.stopping, s.transferring = nil, false, false }

// since returns since when something has been so: Never if it is not, else before, or now if that is Never.
func since(is bool, before, now lease.Instant) lease.Instant {
	switch {
	case !is:
		return lease.Never
	case before == lease.Never:
		return now
	default:
		return before
	}
}

// hasLasted reports whether something has been so for d, by an instant of [since].
func hasLasted(since lease.Instant, d time.Duration, now lease.Instant) bool {
	return since != lease.Never && now.Sub(since) >= d
}
