//go:build unix

package lock

import (
	"errors"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/holdfast-io/holdfast/clients/holdfast"
)

// yield is the value of --yield: the signal that the command gets when others want a lock. 0: none.
type yield struct{ signal syscall.Signal }

// Set implements [pflag.Value].
func (y *yield) Set(text string) error {
	s := unix.SignalNum("SIG" + strings.TrimPrefix(strings.ToUpper(text), "SIG"))
	if s == 0 || s == syscall.SIGKILL || s == syscall.SIGSTOP {
		return errors.New("the name of a signal that a command can handle, such as USR1 or TERM")
	}
	y.signal = s
	return nil
}

// Type implements [pflag.Value].
func (y *yield) Type() string { return "SIGNAL" }

// String implements [pflag.Value].
func (y *yield) String() string { return strings.TrimPrefix(unix.SignalName(y.signal), "SIG") }

// wanted returns a channel that receives a lock that others want. It never does unless there is a signal for that. done
// ends the goroutines that wait.
func (y *yield) wanted(all []*holdfast.Lock, done <-chan struct{}) <-chan *holdfast.Lock {
	if y.signal == 0 {
		return nil
	}
	c := make(chan *holdfast.Lock, 1) // the first one counts
	for _, l := range all {
		go func() {
			select {
			case <-l.Wanted():
				select {
				case c <- l:
				default:
				}
			case <-done:
			}
		}()
	}
	return c
}
