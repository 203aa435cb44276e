//go:build unix

package lock

import (
	"syscall"
	"testing"
	"time"
)

func TestTermination(t *testing.T) {
	const (
		term, kill = syscall.SIGTERM, syscall.SIGKILL
		second     = time.Second
	)
	// look is one call of due: its time since the start of the command, its arguments and its results.
	type look struct {
		at, deadline time.Duration
		gone         bool
		want         syscall.Signal
		again        time.Duration
	}
	for name, test := range map[string]struct {
		onLost string
		looks  []look
	}{
		"Renewed": {onLostTerm, []look{
			{0, 10 * second, false, 0, 7 * second},
			{7*second - 1, 15 * second, false, 0, 5*second + 1},
			{100 * second, 105 * second, false, 0, 2 * second},
		}},
		"NotRenewed": {onLostTerm, []look{
			{6 * second, 10 * second, false, 0, second},
			{7 * second, 10 * second, false, term, 3 * second},
			{8 * second, 10 * second, false, 0, 2 * second},
			{10 * second, 10 * second, true, kill, never},
			{11 * second, 10 * second, true, 0, never},
		}},
		"RenewedTooLate": {onLostTerm, []look{
			{7 * second, 10 * second, false, term, 3 * second},
			{10 * second, 20 * second, false, 0, 10 * second},
			{20 * second, 20 * second, false, kill, never},
		}},
		"Frozen": {onLostTerm, []look{
			{60 * second, 10 * second, false, kill, never},
		}},
		"Broken": {onLostTerm, []look{
			{1 * second, 10 * second, true, term, second},
			{1500 * time.Millisecond, 10 * second, true, 0, second / 2},
			{2 * second, 10 * second, true, kill, never},
		}},
		"BrokenShortlyBefore": {onLostTerm, []look{
			{7 * second, 10 * second, false, term, 3 * second},
			{9500 * time.Millisecond, 10 * second, true, 0, second / 2},
			{10 * second, 10 * second, true, kill, never},
		}},
		"Kill": {onLostKill, []look{
			{9 * second, 10 * second, false, 0, second},
			{10 * second, 10 * second, false, kill, never},
		}},
		"KillBroken": {onLostKill, []look{
			{second, 10 * second, true, kill, never},
		}},
		"Ignore": {onLostIgnore, []look{
			{9 * second, 10 * second, false, 0, never},
			{11 * second, 10 * second, true, 0, never},
		}},
	} {
		t.Run(name, func(t *testing.T) {
			d, begun := newTermination(test.onLost, 3*second), time.Now()
			for _, l := range test.looks {
				s, again := d.due(begun.Add(l.at), begun.Add(l.deadline), l.gone)
				if s != l.want || again != l.again {
					t.Errorf("after %v: %v and again in %v, wanted %v and %v", l.at, s, again, l.want, l.again)
				}
			}
		})
	}
}
