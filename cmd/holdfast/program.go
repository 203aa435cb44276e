package main

import (
	"context"
	"fmt"
	"io"

	"github.com/holdfast-io/holdfast/cmd/holdfast/internal/display"
	"github.com/holdfast-io/holdfast/cmd/holdfast/internal/exit"
)

// Program is holdfast without its process, so that tests can run it.
type Program struct {
	Stdout, Stderr io.Writer
}

// Run executes a command line, without the name of the program, and returns the exit code. The end of ctx
// interrupts the command as Ctrl-C does.
func (p *Program) Run(ctx context.Context, args []string) int {
	root := newRoot()
	root.SetArgs(args)
	root.SetOut(p.Stdout)
	root.SetErr(p.Stderr)
	err := root.ExecuteContext(ctx)
	if text := exit.Message(err); text != "" {
		_, _ = fmt.Fprintln(p.Stderr, "holdfast: "+display.Lines(text)) // an error of stderr cannot be reported
	}
	return exit.CodeOf(err)
}
