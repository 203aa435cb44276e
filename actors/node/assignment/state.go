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
	// backoffFirst is how long a node that was deposed leaves the shard alone: time to receive the new owner's
	// announcement. It doubles, up to backoffMax, each time that the node is deposed before it has owned the shard for
	// stableAfter: two nodes that do not receive each other must not take a shard from one another for ever.
	backoffFirst = listenFor
	backoffMax   = 5 * time.Minute
	stableAfter  = 10 * time.Minute
	// stalledAfter is how long an append may be in flight before the shard counts as stalled.
	stalledAfter = 2 * time.Second
	// confirmedFor is how long a confirmed append shows that the node can commit.
	confirmedFor = 5 * time.Second
	// outdoneLimit is how long an open shard may be stalled while other nodes commit. After an outage of JetStream each
	// bucket elects its leader by itself, in up to nine seconds.
	outdoneLimit = 15 * time.Second
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
	// outdone is since when the journal confirms nothing to the open shard, while journals do to other nodes; Never if
	// that is not so.
	outdone lease.Instant
	// unowned is since when no node is known to have the shard; Never if one is.
	unowned lease.Instant
	// backoff is until when the node leaves the shard alone, failing until when it is not assigned to the node unless
	// no other can open it. repeated is how many times either was set before the node has owned the shard for
	// stableAfter.
	backoff, failing lease.Instant
	repeated         int
	// led is since when the node's NATS server has led the bucket; Never if it does not.
	led lease.Instant
	// yielded is how many openings in a row were stopped for another node, while no owner was known.
	yielded int
	// closed is the generation for which the node has closed the shard's journal; 0: it has not.
	closed uint32
	// endpoint: the shard's direct endpoint is open here.
	endpoint bool
}

func newState() *state {
	return &state{opening: lease.Never, opened: lease.Never, outdone: lease.Never, unowned: lease.Never,
		led: lease.Never}
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
	records := uint64(0)
	if s.shard != nil {
		records = s.shard.Progress()
	}
	if s.opening == now || records != s.records {
		s.records, s.progressed = records, now
	}
	if is == actors.Open || is == actors.Opening {
		s.opened = since(is == actors.Open, s.opened, now)
	}
}

// isStuck reports whether an opening has made no progress for too long.
func (s *state) isStuck(now lease.Instant) bool {
	return s.opening != lease.Never && now.Sub(s.progressed) >= openTimeout // mutant: OpeningJudgedByItsDuration
}

// logsSlowOpening reports whether the log should mention a long opening now. It does so once in [openTimeout].
func (s *state) logsSlowOpening(now lease.Instant) bool {
	if s.opening == lease.Never || now.Sub(max(s.opening, s.logged)) < openTimeout {
		return false
	}
	s.logged = now
	return true
}

// isStalled reports whether the journal has confirmed nothing to the open shard for too long.
func (s *state) isStalled(now lease.Instant) bool {
	return s.standing() == actors.Open && hasLasted(s.shard.Unconfirmed(), stalledAfter, now)
}

// commits reports whether the journal has confirmed an append of the shard a short while ago.
func (s *state) commits(now lease.Instant) bool {
	return s.shard != nil && s.shard.Confirmed() != lease.Never && !hasLasted(s.shard.Confirmed(), confirmedFor, now)
}

// depose notes that another writer has deposed the shard.
func (s *state) depose(now lease.Instant) { s.backoff = now.Add(s.delay(backoffFirst, now)) }

// fail notes that the node cannot open the shard, or cannot commit to it.
func (s *state) fail(now lease.Instant) { s.failing = now.Add(s.delay(failingFor, now)) }

// delay returns for how long to leave the shard to others: first, and twice as long each time, up to backoffMax.
func (s *state) delay(first time.Duration, now lease.Instant) time.Duration {
	if hasLasted(s.opened, stableAfter, now) {
		s.repeated = 0
	}
	s.repeated++
	return min(first<<min(s.repeated-1, 8), backoffMax)
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
