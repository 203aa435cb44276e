package cli

import (
	"slices"
	"time"

	"github.com/holdfast-io/holdfast/cmd/holdfast/internal/display"
)

// Interval is the value of a flag whose duration is optional.
type Interval struct {
	Every    Duration
	On, open bool
}

// NewInterval returns an interval of 2 s that is off.
func NewInterval() Interval {
	return Interval{Every: NewDuration(2*time.Second, 100*time.Millisecond, 24*time.Hour)}
}

// Bare returns the value of the flag without a duration.
func (i *Interval) Bare() string { return display.Duration(i.Every.Duration) }

// Set implements [pflag.Value].
func (i *Interval) Set(text string) error {
	i.On, i.open = true, text == i.Bare()
	return i.Every.Set(text)
}

// String implements [pflag.Value]. Help shows no default.
func (i *Interval) String() string { return "" }

// Take removes the flag's value from args, where it is without an equals sign: the first argument before "--" that is
// a duration.
func (i *Interval) Take(args []string, dash int) ([]string, error) {
	if dash < 0 {
		dash = len(args)
	}
	at := slices.IndexFunc(args[:dash], func(arg string) bool {
		_, err := time.ParseDuration(arg)
		return err == nil
	})
	if !i.open || at < 0 {
		return args, nil
	}
	if err := i.Set(args[at]); err != nil {
		return nil, BadValue("--watch", args[at], err)
	}
	return slices.Delete(args, at, at+1), nil
}

// Type implements [pflag.Value].
func (i *Interval) Type() string { return i.Every.Type() }
