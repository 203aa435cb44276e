// Command godriver is the driver of the conformance cases for the Go client. clients/conformance/README.md has its
// protocol.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
)

func main() {
	if err := newDriver(os.Stdout).run(os.Stdin); err != nil {
		fmt.Fprintln(os.Stderr, "godriver:", err)
		os.Exit(1)
	}
}

// driver carries out commands. Its methods are called concurrently.
type driver struct {
	mu      sync.Mutex
	out     *json.Encoder
	clients map[string]*client
	locks   map[string]held
	watches map[string]*watch
	calls   map[int]context.CancelFunc
}

func newDriver(out io.Writer) *driver {
	return &driver{
		out: json.NewEncoder(out), clients: map[string]*client{}, locks: map[string]held{},
		watches: map[string]*watch{}, calls: map[int]context.CancelFunc{},
	}
}

// run carries out the commands of the input, each on a goroutine of its own, until the input ends.
func (d *driver) run(in io.Reader) error {
	commands := json.NewDecoder(in)
	commands.DisallowUnknownFields()
	for {
		c := &command{}
		switch err := commands.Decode(c); {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return fmt.Errorf("read a command: %w", err)
		}
		ctx, cancel := context.WithCancel(context.Background())
		d.mu.Lock()
		d.calls[c.ID] = cancel
		d.mu.Unlock()
		go func() {
			defer cancel()
			d.answer(ctx, c)
		}()
	}
}

// answer carries a command out and writes the answer.
func (d *driver) answer(ctx context.Context, c *command) {
	result, err := d.do(ctx, c)
	d.mu.Lock()
	delete(d.calls, c.ID)
	d.mu.Unlock()
	if err != nil {
		problem := describe(err)
		for member, value := range result {
			problem[member] = value
		}
		d.write(object{"id": c.ID, "error": problem})
		return
	}
	if result == nil {
		result = object{}
	}
	d.write(object{"id": c.ID, "ok": result})
}

// object is an object in JSON.
type object map[string]any

func (d *driver) write(o object) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.out.Encode(o); err != nil {
		fmt.Fprintln(os.Stderr, "godriver:", err) // the runner misses the answer
	}
}

// find returns what a command names.
func find[V any](d *driver, all map[string]V, what, name string) (V, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	v, ok := all[name]
	if !ok {
		return v, fmt.Errorf("there is no %s %q", what, name)
	}
	return v, nil
}

// put notes what a later command may name.
func put[V any](d *driver, all map[string]V, name string, v V) {
	d.mu.Lock()
	defer d.mu.Unlock()
	all[name] = v
}
