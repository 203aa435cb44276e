// Command oneacquire acquires one lock of a node in its own process, and writes which code of both ran meanwhile: for
// make house, which builds it with -cover. The folder that it writes to is its argument.
package main

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"runtime/coverage"
	"time"

	"github.com/holdfast-io/holdfast/actors/node"
	"github.com/holdfast-io/holdfast/clients/holdfast"
	"github.com/holdfast-io/holdfast/cmd/holdfast/server"
	"github.com/holdfast-io/holdfast/jetstream/embedded"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: oneacquire folder")
		os.Exit(2)
	}
	if err := run(context.Background(), os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, "oneacquire:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, folder string) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	data, err := os.MkdirTemp("", "oneacquire-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(data) }()
	s, err := server.Start(ctx, server.Config{
		Config: node.Config{Name: "n1", Log: slog.New(slog.DiscardHandler)}, StopTimeout: time.Minute,
		Embedded: embedded.Config{Listen: "127.0.0.1:-1", DataDir: data},
	})
	if err != nil {
		return err
	}
	defer func() { _ = s.Stop() }() // before its data goes
	nc, err := holdfast.Connect(s.ClientURL())
	if err != nil {
		return err
	}
	defer nc.Close()
	c, err := holdfast.New(nc)
	if err != nil {
		return err
	}
	// The first lock has the client learn what the deployment can.
	first, err := c.Acquire(ctx, "first")
	if err != nil {
		return err
	}
	if err := first.Release(ctx); err != nil {
		return err
	}
	if err := coverage.ClearCounters(); err != nil {
		return err
	}
	if _, err := c.Acquire(ctx, "orders.42"); err != nil {
		return err
	}
	if err := coverage.WriteCountersDir(folder); err != nil {
		return err
	}
	return coverage.WriteMetaDir(folder)
}
