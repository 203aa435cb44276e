package cli

import (
	"github.com/spf13/pflag"

	"github.com/holdfast-io/holdfast/cmd/holdfast/internal/exit"
	"github.com/holdfast-io/holdfast/messages"
)

// HoldBack is the flags that say how long a resource is held back after the loss of its lease. Without them it is
// not.
type HoldBack struct {
	Delay   Duration
	Confirm bool
}

// NewHoldBack returns the flags of a lease whose resource is not held back.
func NewHoldBack() HoldBack {
	return HoldBack{Delay: NewDuration(0, 0, Millis(messages.MaxDelayMillis))}
}

// AddTo adds the flags.
func (h *HoldBack) AddTo(f *pflag.FlagSet) {
	f.Var(&h.Delay, "delay", "if the lease is lost, hold the resource back for this time")
	f.BoolVar(&h.Confirm, "confirm", false,
		"if the lease is lost, hold the resource back until that is confirmed, or --delay is over")
}

// Check refuses them for an ephemeral lease.
func (h *HoldBack) Check(ephemeral bool) error {
	if !ephemeral || !h.On() {
		return nil
	}
	flag := "--confirm"
	if h.Delay.Duration > 0 {
		flag = "--delay"
	}
	return exit.Usagef("%s and --ephemeral exclude each other: the loss of an ephemeral lease may remain unknown", flag)
}

// On reports whether the resource is held back after a loss.
func (h *HoldBack) On() bool { return h.Delay.Duration > 0 || h.Confirm }
