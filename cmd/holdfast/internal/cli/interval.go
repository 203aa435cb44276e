package cli

import (
	"slices"
	"time"

	"github.com/holdfast-io/holdfast/cmd/holdfast/internal/display"
)

// Interval is a flag's value: a duration that may be left out.
type Interval struct {
	Every    Duration
	On, open bool
}

func NewInterval() Interval {
	return Interval{Every: NewDuration(2*time.Second, 100*time.Millisecond, 24*time.Hour)}
}

// Bare is what the flag gets when it stands alone.
func (i *Interval) Bare() string { return display.Duration(i.Every.Duration) }

// Set reads an interval.
func (i *Interval) Set(text string) error {
	i.On, i.open = true, text == i.Bare()
	return i.Every.Set(text)
}

// String returns nothing: without the flag there is no interval.
func (i *Interval) String() string { return "" }

// Take makes the flag's own what stands behind it without an equals sign: the first argument that is
// a duration, unless it stands behind "--".
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

// Type is what help calls such a value.
func (i *Interval) Type() string { return i.Every.Type() }
