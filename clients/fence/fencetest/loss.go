package fencetest

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/holdfast-io/holdfast/clients/fence"
)

// loss is a connection that breaks under a write with token 33. Before the driver can try again, another
// write reaches the store, past the broken connection.
type loss struct {
	name    string
	rule    fence.Rule
	of      direction   // toClient: the answer to a write that was accepted; toServer: its first request
	between fence.Token // of the other write
}

var losses = []loss{
	{"AnswerThenHigher", fence.Repeatable, toClient, 34},
	{"AnswerThenHigherOnce", fence.Once, toClient, 34},
	{"AnswerThenSameHolder", fence.Repeatable, toClient, 33},
	{"RequestThenHigher", fence.Repeatable, toServer, 34},
	{"RequestThenHigherOnce", fence.Once, toServer, 34},
}

const (
	lostValue    = "under the broken connection"
	betweenValue = "in between"
)

// network checks what a guard reports when a connection breaks, with all that its driver does by default
// about that.
func network(t *testing.T, s Subject) {
	t.Helper()
	if s.Through == nil {
		t.Skip("there is no connection between this guard and its store")
	}
	for _, l := range losses {
		t.Run(l.name, func(t *testing.T) {
			t.Parallel()
			if err := l.try(t, s); err != nil {
				t.Error(err)
			}
		})
	}
}

// try breaks the connection under one write, and returns what is wrong with its outcome.
func (l loss) try(tb testing.TB, s Subject) error {
	tb.Helper()
	p := newProxy(tb)
	direct := begin(tb, s, l.rule)
	broken := &register{TB: tb, Register: s.Through(tb, l.rule, p.via), resource: direct.resource}
	broken.accepts(1, "before") // the connection is open, and what a driver learns first is known to it

	o := outcome{loss: l}
	p.losing(func(d direction) bool {
		if o.lost || d != l.of || l.of == toClient && !o.accepted(direct) {
			return false
		}
		o.lost = true
		o.other = direct.Write(tb.Context(), direct.claim(l.between), betweenValue)
		return true
	})
	err := broken.Write(tb.Context(), broken.claim(33), lostValue)
	p.losing(nil) // and what it wrote is seen from here on
	o.err = err
	if o.last, err = direct.Read(tb.Context(), direct.resource); err != nil {
		return err
	}
	if s.History != nil {
		o.history = s.History(tb, direct.resource)
	}
	return o.wrong()
}

// outcome is what a writer got whose connection broke, and what the store shows.
type outcome struct {
	loss
	lost    bool  // the connection broke
	made    bool  // the store had the write at that moment
	other   error // of the write in between
	err     error // what the writer got
	last    string
	history []string // nil if the store keeps none
}

// accepted reports whether the store has the write.
func (o *outcome) accepted(direct *register) bool {
	value, err := direct.Read(direct.Context(), direct.resource)
	o.made = err == nil && value == lostValue
	return o.made
}

// wrong returns what contradicts what the errors of package fence promise.
func (o *outcome) wrong() error {
	times := o.times()
	switch {
	case !o.lost:
		return fmt.Errorf("the connection never broke; the writer got: %s", o.got())
	case o.other != nil:
		return fmt.Errorf("the write in between: %w", o.other)
	case errors.Is(o.err, fence.ErrStale) && times > 0:
		return fmt.Errorf("it was written, and then refused as if nothing had been written: %w", o.err)
	case times > 1:
		return fmt.Errorf("it was written %d times; the writer got: %s", times, o.got())
	case o.err == nil && times == 0:
		return errors.New("it was not written, and the writer got no error")
	case o.err != nil && times > 0 && !errors.Is(o.err, fence.ErrUnknown):
		return fmt.Errorf("it was written, and the error is not ErrUnknown: %w", o.err)
	case o.made && o.last != betweenValue:
		return fmt.Errorf("the store has %q at last, not what was written in between; the writer got: %s", o.last,
			o.got())
	}
	return nil
}

func (o *outcome) got() string { return fmt.Sprint(o.err) }

// times returns how often the write was made, as far as the store shows it.
func (o *outcome) times() int {
	if o.history != nil {
		written := slices.DeleteFunc(slices.Clone(o.history), func(v string) bool { return v != lostValue })
		return len(written)
	}
	if o.made || o.last == lostValue {
		return 1
	}
	return 0
}
