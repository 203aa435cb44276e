package demo

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/spf13/cobra"

	"github.com/holdfast-io/holdfast/clients/fence"
	"github.com/holdfast-io/holdfast/clients/fence/fencefile"
	"github.com/holdfast-io/holdfast/clients/holdfast"
	"github.com/holdfast-io/holdfast/cmd/holdfast/internal/cli"
)

// demoWorker sells from the stock under a lock. It prints each step to standard output, one word and one value
// on a line. It writes after it has read a line from standard input.
type demoWorker struct {
	server, owner, dir string
	ttl                time.Duration
	sell               int
	way                string
	orders             *bufio.Scanner
	out                io.Writer
}

func newDemoWorker() *cobra.Command {
	w := &demoWorker{}
	cmd := &cobra.Command{
		Use:    "worker",
		Short:  "One of the demonstration's workers",
		Hidden: true,
		Args:   cli.NoArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			w.orders, w.out = bufio.NewScanner(cmd.InOrStdin()), cmd.OutOrStdout()
			return w.run(cmd.Context())
		},
	}
	f := cmd.Flags()
	f.StringVar(&w.server, "server", "", "address of NATS")
	f.StringVar(&w.owner, "owner", "", "name of the worker")
	f.StringVar(&w.dir, "dir", "", "folder of the file")
	f.DurationVar(&w.ttl, "ttl", 0, "duration of a lease")
	f.IntVar(&w.sell, "sell", 0, "number to sell")
	f.StringVar(&w.way, "guard", wayPlain, "how to use a guard: none, write or raise")
	return cmd
}

func (w *demoWorker) run(ctx context.Context) error {
	nc, err := nats.Connect(w.server)
	if err != nil {
		return err
	}
	defer nc.Close()
	client, err := holdfast.New(nc, holdfast.Defaults(holdfast.Owner(w.owner), holdfast.TTL(w.ttl)))
	if err != nil {
		return err
	}
	defer func() { _ = client.Close(ctx) }()
	for {
		if err := w.work(ctx, client); !errors.Is(err, fence.ErrStale) {
			w.say("done", err)
			return err
		}
	}
}

func (w *demoWorker) say(word string, value any) { _, _ = fmt.Fprintln(w.out, word, value) }

// work sells once. It does not check the lock again before the write: a pause is always possible between a
// check and the write.
func (w *demoWorker) work(ctx context.Context, client *holdfast.Client) error {
	l, err := client.Acquire(ctx, demoResource)
	if err != nil {
		return err
	}
	defer func() { _ = l.Release(ctx) }()
	w.say("locked", strconv.FormatUint(uint64(l.Token()), 10))
	if err := w.raise(ctx, l.Claim()); err != nil {
		return err
	}
	stock, err := readStock(filepath.Join(w.dir, demoFile))
	if err != nil {
		return err
	}
	if !l.Valid() {
		return context.Cause(l.Context())
	}
	w.say("read", stock)
	if !w.orders.Scan() {
		return w.orders.Err()
	}
	if err := w.write(ctx, l.Claim(), stock-w.sell); err != nil {
		w.say("refused", strings.ReplaceAll(err.Error(), "\n", " "))
		return err
	}
	w.say("wrote", stock-w.sell)
	return nil
}

// raise raises the mark before the read, if the worker does.
func (w *demoWorker) raise(ctx context.Context, c fence.Claim) error {
	if w.way != wayRaise {
		return nil
	}
	return w.guarded(func(dir *fencefile.Dir) error { return dir.Raise(ctx, c) })
}

func (w *demoWorker) write(ctx context.Context, c fence.Claim, stock int) error {
	content := []byte(strconv.Itoa(stock))
	if w.way == wayPlain {
		return os.WriteFile(filepath.Join(w.dir, demoFile), content, 0o600)
	}
	return w.guarded(func(dir *fencefile.Dir) error { return dir.Write(ctx, c, demoFile, content, 0o600) })
}

// guarded calls f with the guard of the folder.
func (w *demoWorker) guarded(f func(*fencefile.Dir) error) (err error) {
	dir, err := fencefile.Open(w.dir)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, dir.Close()) }()
	return f(dir)
}
