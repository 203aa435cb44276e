// Command holdfast is the lock service and its command line: `holdfast serve` runs a node, and the other
// commands acquire, inspect and release locks as clients over NATS. This package defines the commands and wires
// the parts together.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/holdfast-io/holdfast/cmd/holdfast/internal/exit"
)

func main() {
	ctx, cancel := context.WithCancelCause(context.Background())
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	go func() {
		cancel(fmt.Errorf("signal: %v", <-signals))
		<-signals
		os.Exit(exit.Unexpected) // a second signal does not wait
	}()
	p := &Program{Stdout: os.Stdout, Stderr: os.Stderr}
	os.Exit(p.Run(ctx, os.Args[1:]))
}
