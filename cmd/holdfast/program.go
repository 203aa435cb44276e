package main

import (
	"context"
	"fmt"
	"io"

	"github.com/holdfast-io/holdfast/cmd/holdfast/internal/display"
	"github.com/holdfast-io/holdfast/cmd/holdfast/internal/exit"
)

// Program is the whole of holdfast but for the process around it, so that tests can run it too.
type Program struct {
	Stdout, Stderr io.Writer
}

// Run carries out one command line, without the program's name, and returns the exit code. The end of
// ctx is what Ctrl-C is to the process.
func (p *Program) Run(ctx context.Context, args []string) int {
	root := newRoot()
	root.SetArgs(args)
	root.SetOut(p.Stdout)
	root.SetErr(p.Stderr)
	err := root.ExecuteContext(ctx)
	if text := exit.Message(err); text != "" {
		_, _ = fmt.Fprintln(p.Stderr, "holdfast: "+display.Lines(text)) // there is nobody else to tell
	}
	return exit.CodeOf(err)
}
