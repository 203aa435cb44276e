//go:build unix

package lock

import (
	"context"
	"os"
	"os/signal"
	"slices"
	"sync"
	"syscall"
)

var (
	// ending are the signals that cancel a wait for a lock.
	ending = []os.Signal{syscall.SIGHUP, syscall.SIGINT, syscall.SIGQUIT, syscall.SIGTERM}
	// relayed are the signals that are forwarded to the command. The others concern this process itself, or
	// cannot be caught.
	relayed = append([]os.Signal{
		syscall.SIGABRT, syscall.SIGALRM, syscall.SIGCONT, syscall.SIGTSTP, syscall.SIGUSR1, syscall.SIGUSR2, syscall.SIGWINCH,
	}, ending...)
	// deaf are the signals that were ignored at the start of this process, as with nohup or in the background
	// of a script. The command inherits that. The variable is set before the first signal.Notify, which would
	// change the answer.
	deaf = slices.DeleteFunc(slices.Clone(relayed), func(s os.Signal) bool { return !signal.Ignored(s) })
)

// relay is the queue of the signals for the command. The end of the context is queued as SIGINT.
type relay struct {
	signals chan os.Signal
	unlink  func() bool
}

// newRelay replaces the signal handlers that are registered already. With these a second Ctrl-C would end this
// process before the command.
func newRelay(ctx context.Context) *relay {
	r := &relay{signals: make(chan os.Signal, 64)}
	signal.Reset(ending...)
	r.listen(ending)
	r.unlink = context.AfterFunc(ctx, func() { r.signals <- syscall.SIGINT })
	return r
}

func (r *relay) listen(signals []os.Signal) {
	for _, s := range signals {
		if !slices.Contains(deaf, s) {
			signal.Notify(r.signals, s)
		}
	}
}

func (r *relay) close() {
	r.unlink()
	signal.Stop(r.signals)
}

// interruption is the cause of a wait that a signal has cancelled.
type interruption struct{ signal syscall.Signal }

// Error returns the name of the signal.
func (i interruption) Error() string { return i.signal.String() }

// interrupt returns a context that the first signal cancels. After stop has returned, signals stay in the
// queue for the command.
func (r *relay) interrupt(ctx context.Context) (waiting context.Context, stop func()) {
	waiting, cancel := context.WithCancelCause(ctx)
	quit, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		select {
		case s := <-r.signals:
			cancel(interruption{s.(syscall.Signal)})
		case <-quit:
		}
	}()
	return waiting, sync.OnceFunc(func() {
		close(quit)
		<-done
	})
}
