// Package commands defines the commands of holdfast and wires its parts together.
package commands

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/holdfast-io/holdfast/cmd/holdfast/internal/display"
	"github.com/holdfast-io/holdfast/cmd/holdfast/internal/exit"
	"github.com/holdfast-io/holdfast/cmd/holdfast/serve"
)

// Program is holdfast without its process, so that tests can run it.
type Program struct {
	Stdout, Stderr io.Writer
	// Name is the command's; empty: holdfast.
	Name string
	// Trace exports the traces of nodes; nil: nodes export none.
	Trace serve.Tracing
}

// Main is Run for the process itself, which leave ends with an exit code, as os.Exit does. SIGINT and SIGTERM interrupt
// the command, and the second of them does not wait for it.
func (p *Program) Main(args []string, leave func(code int)) {
	ctx, cancel := context.WithCancelCause(context.Background())
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	go func() {
		cancel(fmt.Errorf("signal: %v", <-signals))
		<-signals
		leave(exit.Unexpected)
	}()
	leave(p.Run(ctx, args))
}

// Run executes a command line, without the name of the program, and returns the exit code. The end of ctx
// interrupts the command as Ctrl-C does.
func (p *Program) Run(ctx context.Context, args []string) int {
	root := newRoot(p)
	root.SetArgs(args)
	root.SetOut(p.Stdout)
	root.SetErr(p.Stderr)
	err := root.ExecuteContext(ctx)
	if text := exit.Message(err); text != "" {
		_, _ = fmt.Fprintln(p.Stderr, "holdfast: "+display.Lines(text)) // an error of stderr cannot be reported
	}
	return exit.CodeOf(err)
}
