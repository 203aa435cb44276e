// Command holdfast is the lock service and its command line: `holdfast serve` runs a node, the other
// commands take, keep and give back locks. Everything is wired here and nowhere else; what the parts
// do is theirs. Whatever a command asks of a node it asks as any other client does, over NATS.
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
		os.Exit(exit.Unexpected) // who asks twice does not want to wait
	}()
	p := &Program{Stdout: os.Stdout, Stderr: os.Stderr}
	os.Exit(p.Run(ctx, os.Args[1:]))
}
