package cli

import (
	"github.com/spf13/pflag"

	"github.com/holdfast-io/holdfast/cmd/holdfast/internal/exit"
	"github.com/holdfast-io/holdfast/messages"
)

// MinHold is the flag for the shortest hold: how long nobody gets the lock after it was granted. 0: it has none.
type MinHold struct{ Duration }

// NewMinHold returns the flag of a lease without a shortest hold.
func NewMinHold() MinHold { return MinHold{NewDuration(0, 0, Millis(messages.MaxDelayMillis))} }

// AddTo adds the flag.
func (h *MinHold) AddTo(f *pflag.FlagSet) {
	f.Var(h, "min-hold", "nobody gets the lock before this time has passed since it was granted, also after a release")
}

// Check refuses it for leases that cannot have one.
func (h *MinHold) Check(shared, ephemeral bool) error {
	switch {
	case h.Duration.Duration == 0:
		return nil
	case shared:
		return exit.Usagef("--min-hold and --shared or --limit exclude each other: only an exclusive lock has a shortest hold")
	case ephemeral:
		return exit.Usagef("--min-hold and --ephemeral exclude each other: the end of an ephemeral lease may remain unknown")
	}
	return nil
}
