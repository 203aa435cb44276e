package cli

import (
	"github.com/spf13/pflag"

	"github.com/holdfast-io/holdfast/cmd/holdfast/internal/exit"
	"github.com/holdfast-io/holdfast/messages"
)

// MinHold is the flag of the shortest hold of a lease. 0: it has none.
type MinHold struct{ Duration }

// NewMinHold returns the flag of a lease without a shortest hold.
func NewMinHold() MinHold { return MinHold{NewDuration(0, 0, Millis(messages.MaxDelayMillis))} }

// AddTo adds the flag.
func (m *MinHold) AddTo(f *pflag.FlagSet) {
	f.Var(&m.Duration, "min-hold", "let nobody have the lock before this time since it was acquired, also after a release")
}

// Check refuses it for a lease that cannot have one.
func (m *MinHold) Check(shared, ephemeral bool) error {
	switch {
	case m.Duration.Duration == 0:
		return nil
	case shared:
		return exit.Usagef("--min-hold and --shared or --limit exclude each other: only an exclusive lock has a shortest hold")
	case ephemeral:
		return exit.Usagef("--min-hold and --ephemeral exclude each other: the end of an ephemeral lease may remain unknown")
	}
	return nil
}
