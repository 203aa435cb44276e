package cli

import (
	"math"

	"github.com/spf13/pflag"

	"github.com/holdfast-io/holdfast/cmd/holdfast/internal/exit"
	"github.com/holdfast-io/holdfast/messages"
)

// Sharing is the flags that say beside how many others a lease may be held. Without them it is exclusive.
type Sharing struct {
	shared         bool
	limit, permits Number
}

// NewSharing returns the flags of an exclusive lease.
func NewSharing() Sharing {
	return Sharing{limit: NewNumber(0, 1, 1_000_000_000), permits: NewNumber(0, 1, messages.MaxPermits)}
}

// AddTo adds the flags.
func (s *Sharing) AddTo(f *pflag.FlagSet) {
	f.BoolVar(&s.shared, "shared", false, "hold it beside other shared holders, as a reader")
	f.Var(&s.limit, "limit", "hold it while at most this many permits are held, as one of a semaphore")
	f.Var(&s.permits, "permits", "permits to take of --limit (default 1)")
}

// Check refuses flags that contradict one another.
func (s *Sharing) Check() error {
	switch {
	case s.shared && s.limit.Value > 0:
		return exit.Usagef("--shared and --limit exclude each other: --shared has no limit; " +
			"choose --shared for a reader, --limit for a semaphore")
	case s.permits.Value > 0 && s.limit.Value == 0:
		return exit.Usagef("--permits needs --limit: it is a part of it, as in: --limit 5 --permits 2")
	case s.permits.Value > max(s.limit.Value, 1):
		return exit.Usagef("--permits: at most --limit, which is %d, got %d; take fewer permits or raise --limit",
			s.limit.Value, s.permits.Value)
	}
	return nil
}

// Limit returns the limit for a request; 0: exclusive.
func (s *Sharing) Limit() uint32 {
	if s.shared {
		return math.MaxUint32
	}
	return uint32(s.limit.Value)
}

// Permits returns the permits for a request; 0: one.
func (s *Sharing) Permits() uint32 { return uint32(s.permits.Value) }

// On reports whether the request is for a shared lease.
func (s *Sharing) On() bool { return s.Limit() > 1 }
