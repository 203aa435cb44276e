// Command holdfast is the lock service and its command line: `holdfast serve` runs a node, and the other
// commands acquire, inspect and release locks as clients over NATS.
package main

import (
	"os"

	"github.com/holdfast-io/holdfast/cmd/holdfast/internal/commands"
)

func main() {
	p := &commands.Program{Stdout: os.Stdout, Stderr: os.Stderr}
	p.Main(os.Args[1:], os.Exit)
}
