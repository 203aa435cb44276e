package actors

import (
	"math"
	"time"

	"github.com/holdfast-io/holdfast/actors/ledger"
)

const (
	// sweepParts is how many passes there are in the time for which a resource is kept; minSweep is the
	// shortest time between two passes.
	sweepParts = 8
	minSweep   = time.Second
)

// sweepDue lets a term begin a pass, or to go on with it.
type sweepDue struct{}

// sweeper shrinks and forgets by the clock. A compaction that waits for the journal to grow does not:
// without requests it never begins.
type sweeper struct {
	mailbox               *mailbox
	ledger                *ledger.Ledger
	remember, shrinkAfter time.Duration

	timeout timeout
	// soon: the timeout was set for a change since the present or last pass began.
	soon bool
	pass ledger.Sweep
}

func newSweeper(m *mailbox, l *ledger.Ledger, t Tuning) sweeper {
	return sweeper{mailbox: m, ledger: l, remember: t.Remember, shrinkAfter: t.ShrinkAfter}
}

// later lets a pass begin some time after a change.
func (s *sweeper) later() {
	if !s.soon {
		s.soon = true
		s.timeout.set(s.mailbox, min(sweepInterval(s.shrinkAfter), sweepInterval(s.remember)), sweepDue{})
	}
}

// step looks at some pages. At the end of a pass, expired says whether it found something to forget.
func (s *sweeper) step(r ledger.Retention) (done, expired bool) {
	if !s.pass.Began() {
		s.soon = false
	}
	if !s.pass.Step(s.ledger, s.ledger.Before(s.mailbox.clock.Now().Instant, s.shrinkAfter), r) {
		s.mailbox.send(sweepDue{})
		return false, false
	}
	expired = s.pass.Expired()
	s.pass = ledger.Sweep{}
	s.schedule()
	return true, expired
}

// schedule sets the timeout for the next pass, if there will be something to shrink or to forget.
func (s *sweeper) schedule() {
	if s.soon {
		return // there was a change since this pass began
	}
	switch oldest, whole := s.ledger.Oldest(); {
	case whole != math.MaxInt64:
		s.later()
	case oldest != math.MaxInt64:
		age := s.ledger.Unused(oldest, s.mailbox.clock.Now().Instant)
		s.timeout.set(s.mailbox, max(s.remember-age, sweepInterval(s.remember)), sweepDue{})
	}
}

func sweepInterval(keep time.Duration) time.Duration { return max(keep/sweepParts, minSweep) }
