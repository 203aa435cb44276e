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
	// ending are the signals that end a wait.
	ending = []os.Signal{syscall.SIGHUP, syscall.SIGINT, syscall.SIGQUIT, syscall.SIGTERM}
	// relayed are those that the command gets in our place. Of the others, some tell a process of its own
	// doings, and some nobody can catch.
	relayed = append([]os.Signal{
		syscall.SIGABRT, syscall.SIGALRM, syscall.SIGCONT, syscall.SIGTSTP, syscall.SIGUSR1, syscall.SIGUSR2, syscall.SIGWINCH,
	}, ending...)
	// deaf are those that whoever started us has us ignore, as nohup does, and a script with what it puts
	// in the background. The command inherits that. It is looked up before anybody listens to signals.
	deaf = slices.DeleteFunc(slices.Clone(relayed), func(s os.Signal) bool { return !signal.Ignored(s) })
)

// relay is where the signals come in that are meant for the command. The end of the context comes in as
// SIGINT.
type relay struct {
	signals chan os.Signal
	unlink  func() bool
}

// newRelay takes the signals over from whoever listens: a second Ctrl-C must not end us before the
// command.
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

// interruption is why a wait has ended.
type interruption struct{ signal syscall.Signal }

// Error says which signal it was.
func (i interruption) Error() string { return i.signal.String() }

// interrupt returns a context that ends with the first signal that comes before stop is called; what
// comes later is for the command.
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
