// Package demo implements the demo command, which shows the effect of a fencing token on one machine.
package demo

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/holdfast-io/holdfast/cmd/holdfast/internal/cli"
)

// New returns the demo command.
func New() *cobra.Command {
	cmd := &cobra.Command{
		Use:               "demo",
		Short:             "Run a demonstration on this machine",
		Args:              cli.KnownCommand,
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE:              func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newDemoFencing(), newDemoWorker())
	return cmd
}

// The numbers of the demonstration: the stock at the start, the sales of each worker and the correct rest.
const (
	demoStock    = 100
	annaSells    = 30
	bertSells    = 5
	demoRight    = demoStock - annaSells - bertSells
	demoResource = "stock"
	demoFile     = "stock.txt"
)

// demoPatience limits one run of the demonstration, in addition to the leases that it waits for.
const demoPatience = 30 * time.Second

func newDemoFencing() *cobra.Command {
	ttl := cli.NewDuration(2*time.Second, 500*time.Millisecond, time.Minute)
	cmd := &cobra.Command{
		Use:   "fencing",
		Short: "Show a late write by a paused worker, without a guard and with a guard",
		Long: `Runs a lock service and two workers as processes on this machine, in a temporary
folder. One worker is stopped between reading and writing, until its lease has
expired and the other worker has held the lock. Then it continues and writes: once
to a plain file, and once through a guard that checks the fencing token.`,
		Args:              cli.NoArguments,
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, _ []string) error {
			d := &demo{out: cmd.OutOrStdout(), ttl: ttl.Duration}
			return d.run(cmd.Context())
		},
	}
	cli.AddFlags(cmd, cli.SectionOther, func(f *pflag.FlagSet) {
		f.Var(&ttl, "ttl", "duration of a lease, and minimum duration of the pause")
	})
	return cmd
}

// demo runs the demonstration and prints each step.
type demo struct {
	out  io.Writer
	ttl  time.Duration
	dir  string
	url  string
	step int
}

func (d *demo) run(ctx context.Context) (err error) {
	if d.dir, err = os.MkdirTemp("", "holdfast-demo-"); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(d.dir)) }()
	server, err := startProcess(ctx, "serve", "--listen", "127.0.0.1:0", "--http", "off", "--data", filepath.Join(d.dir, "data"))
	if err != nil {
		return err
	}
	defer server.kill()
	if d.url, err = server.ready(ctx); err != nil {
		return err
	}
	d.say("Two workers sell from one stock. A file contains the number that is left. Each\n"+
		"acquires the lock %q, reads the file, and writes the new number. A lease lasts %v.", demoResource, d.ttl)
	plain, err := d.act(ctx, "Without a guard: the file accepts every write", false)
	if err != nil {
		return err
	}
	guarded, err := d.act(ctx, "With a guard: writes with an old token are refused", true)
	if err != nil {
		return err
	}
	return d.conclude(plain, guarded)
}

func (d *demo) say(format string, args ...any) {
	_, _ = fmt.Fprintf(d.out, format+"\n", args...)
}

// tell prints one numbered step.
func (d *demo) tell(format string, args ...any) {
	d.step++
	d.say("%3d. %s", d.step, fmt.Sprintf(format, args...))
}

// act runs the steps once and returns the number in the file at the end.
func (d *demo) act(ctx context.Context, title string, guarded bool) (left int, err error) {
	ctx, cancel := context.WithTimeout(ctx, demoPatience+2*d.ttl)
	defer cancel()
	d.say("\n%s\n", title)
	d.step = 0
	file := filepath.Join(d.dir, demoFile)
	if err := os.WriteFile(file, []byte(strconv.Itoa(demoStock)), 0o600); err != nil {
		return 0, err
	}
	if err := d.play(ctx, guarded); err != nil {
		return 0, err
	}
	if left, err = readStock(file); err == nil {
		d.tell("The file contains %d. %d of %d were sold, so %d should be left.",
			left, annaSells+bertSells, demoStock, demoRight)
	}
	return left, err
}

func (d *demo) play(ctx context.Context, guarded bool) error {
	anna, err := d.worker(ctx, "anna", annaSells, guarded)
	if err != nil {
		return err
	}
	defer anna.kill()
	token, read, err := begin(ctx, anna)
	if err != nil {
		return err
	}
	d.tell("anna gets the lock with token %s, reads %s, and sells %d.", token, read, annaSells)
	if err := anna.pause(); err != nil {
		return err
	}
	d.tell("anna has checked that she holds the lock, and is paused before she writes (SIGSTOP).\n" +
		"     Garbage collection, a full disk or a suspended laptop have the same effect.")
	if err := d.other(ctx, guarded); err != nil {
		return err
	}
	d.tell("anna continues (SIGCONT). She does not know how long she was paused, and writes.")
	if err := cmp.Or(anna.order("write"), anna.resume()); err != nil {
		return err
	}
	return d.aftermath(ctx, anna, guarded)
}

// other runs the second worker while the first is paused.
func (d *demo) other(ctx context.Context, guarded bool) error {
	bert, err := d.worker(ctx, "bert", bertSells, guarded)
	if err != nil {
		return err
	}
	defer bert.kill()
	d.tell("bert waits for the lock until anna's lease has expired.")
	token, read, err := begin(ctx, bert)
	if err != nil {
		return err
	}
	wrote, err := write(ctx, bert)
	if err != nil {
		return err
	}
	d.tell("bert gets the lock with token %s, reads %s, sells %d, writes %s, and releases the lock.",
		token, read, bertSells, wrote)
	_, err = bert.hear(ctx, "done")
	return err
}

// aftermath reports the result of the late write.
func (d *demo) aftermath(ctx context.Context, anna *process, guarded bool) error {
	if !guarded {
		wrote, err := anna.hear(ctx, "wrote")
		if err == nil {
			d.tell("The write succeeds: %s overwrites what bert wrote.", wrote)
		}
		return err
	}
	refusal, err := anna.hear(ctx, "refused")
	if err != nil {
		return err
	}
	d.tell("Refused: %s", refusal)
	token, read, err := begin(ctx, anna)
	if err != nil {
		return err
	}
	wrote, err := write(ctx, anna)
	if err == nil {
		d.tell("anna starts again: she gets the lock with token %s, reads %s, and writes %s.", token, read, wrote)
	}
	return err
}

// begin waits until a worker has the lock and has read the file.
func begin(ctx context.Context, worker *process) (token, read string, err error) {
	if token, err = worker.hear(ctx, "locked"); err == nil {
		read, err = worker.hear(ctx, "read")
	}
	return token, read, err
}

// write orders a worker to write, and returns the number that it has written.
func write(ctx context.Context, worker *process) (wrote string, err error) {
	if err := worker.order("write"); err != nil {
		return "", err
	}
	return worker.hear(ctx, "wrote")
}

func (d *demo) worker(ctx context.Context, name string, sells int, guarded bool) (*process, error) {
	return startProcess(ctx, "demo", "worker", "--server", d.url, "--owner", name, "--dir", d.dir,
		"--ttl", d.ttl.String(), "--sell", strconv.Itoa(sells), "--guarded="+strconv.FormatBool(guarded))
}

func (d *demo) conclude(plain, guarded int) error {
	d.say(`
                     sold   left in the file
  without a guard    %4d   %16d   %s
  with the guard     %4d   %16d   %s

The lock worked in both runs. Only the check of the token, in the same step as the
write, stops a holder that does not know that its lease has expired.
There are guards for files, SQL, Redis, etcd, HTTP and more: see docs/fencing.md.`,
		annaSells+bertSells, plain, verdict(plain), annaSells+bertSells, guarded, verdict(guarded))
	if plain == demoRight || guarded != demoRight {
		return fmt.Errorf("unexpected result of the demonstration: %d and %d are left, and %d would be right",
			plain, guarded, demoRight)
	}
	return nil
}

func verdict(left int) string {
	if left == demoRight {
		return "right"
	}
	return fmt.Sprintf("wrong by %d", left-demoRight)
}

func readStock(file string) (int, error) {
	content, err := os.ReadFile(file)
	if err != nil {
		return 0, err
	}
	return strconv.Atoi(strings.TrimSpace(string(content)))
}
