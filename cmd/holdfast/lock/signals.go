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
	// forwarded are the signals that are forwarded to the command. The others concern this process itself, or
	// cannot be caught.
	forwarded = append([]os.Signal{
		syscall.SIGABRT, syscall.SIGALRM, syscall.SIGCONT, syscall.SIGTSTP, syscall.SIGUSR1, syscall.SIGUSR2,
		syscall.SIGWINCH,
	}, ending...)
	// ignored are the signals that were ignored at the start of this process, as with nohup or in the background
	// of a script. The command inherits that. The variable is set before the first signal.Notify, which would
	// change the answer.
	ignored = slices.DeleteFunc(slices.Clone(forwarded), func(s os.Signal) bool { return !signal.Ignored(s) })
)

// signalQueue is the queue of the signals for the command. The end of the context is queued as SIGINT.
type signalQueue struct {
	c      chan os.Signal
	detach func() bool
}

// newSignalQueue replaces the signal handlers that are registered already. With these a second Ctrl-C would end this
// process before the command.
func newSignalQueue(ctx context.Context) *signalQueue {
	q := &signalQueue{c: make(chan os.Signal, 64)}
	signal.Reset(ending...)
	q.listen(ending)
	q.detach = context.AfterFunc(ctx, func() { q.c <- syscall.SIGINT })
	return q
}

func (q *signalQueue) listen(signals []os.Signal) {
	for _, s := range signals {
		if !slices.Contains(ignored, s) {
			signal.Notify(q.c, s)
		}
	}
}

func (q *signalQueue) close() {
	q.detach()
	signal.Stop(q.c)
}

// interruption is the cause of a wait that a signal has cancelled.
type interruption struct{ signal syscall.Signal }

// Error returns the name of the signal.
func (i interruption) Error() string { return i.signal.String() }

// interrupt returns a context that the first signal cancels. After stop has returned, signals stay in the
// queue for the command.
func (q *signalQueue) interrupt(ctx context.Context) (waiting context.Context, stop func()) {
	waiting, cancel := context.WithCancelCause(ctx)
	quit, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		select {
		case s := <-q.c:
			cancel(interruption{s.(syscall.Signal)})
		case <-quit:
		}
	}()
	return waiting, sync.OnceFunc(func() {
		close(quit)
		<-done
	})
}
