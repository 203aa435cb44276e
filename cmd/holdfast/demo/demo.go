// Package demo implements the demo command, which shows the effect of a fencing token on one machine.
package demo

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/holdfast-io/holdfast/clients/holdfast"
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
	cmd.AddCommand(newDemoFencing())
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
		Short: "Show a late write by a paused worker, without and with a guard, and a mistake with a guard",
		Long: `Runs a lock service on this machine, and two workers, in a temporary folder. One worker
is paused between reading and writing, until its lease has expired and the other
worker holds the lock. Then it continues and writes: to a plain file, then through a
guard whose mark both workers raise before they read, and then through a guard whose
mark they do not raise.`,
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
	n, err := startNode(ctx, filepath.Join(d.dir, "data"))
	if err != nil {
		return err
	}
	defer n.kill()
	if d.url, err = n.ready(ctx); err != nil {
		return err
	}
	d.say("Two workers sell from one stock. A file contains the number that is left. Each\n"+
		"acquires the lock %q, reads the file, and writes the new number. A lease lasts %v.", demoResource, d.ttl)
	left := make(map[string]int)
	for _, act := range []struct{ way, title string }{
		{wayPlain, "Without a guard: the file accepts every write"},
		{wayRaise, "With a guard whose mark each raises before reading: an old token is refused"},
		{wayWrite, "A mistake: reading before the guard has seen the token"},
	} {
		if left[act.way], err = d.act(ctx, act.title, act.way); err != nil {
			return err
		}
	}
	return d.conclude(left[wayPlain], left[wayRaise], left[wayWrite])
}

func (d *demo) say(format string, args ...any) {
	_, _ = fmt.Fprintf(d.out, format+"\n", args...)
}

// sayStep prints one numbered step.
func (d *demo) sayStep(format string, args ...any) {
	d.step++
	d.say("%3d. %s", d.step, fmt.Sprintf(format, args...))
}

// act runs the steps once and returns the number in the file at the end.
func (d *demo) act(ctx context.Context, title, way string) (left int, err error) {
	ctx, cancel := context.WithTimeout(ctx, demoPatience+2*d.ttl)
	defer cancel()
	d.say("\n%s\n", title)
	d.step = 0
	if err := os.WriteFile(filepath.Join(d.dir, demoFile), []byte(strconv.Itoa(demoStock)), 0o600); err != nil {
		return 0, err
	}
	if err := d.play(ctx, way); err != nil {
		return 0, err
	}
	if left, err = readStock(d.dir); err == nil {
		d.sayStep("The file contains %d. %d of %d were sold, so %d should be left.",
			left, annaSells+bertSells, demoStock, demoRight)
	}
	return left, err
}

// play has anna and bert sell at the same time. anna is paused between her read and her write.
func (d *demo) play(ctx context.Context, way string) error {
	anna, err := newWorker(d.url, d.dir, "anna", annaSells, d.ttl)
	if err != nil {
		return err
	}
	defer anna.close(ctx)
	bert, err := newWorker(d.url, d.dir, "bert", bertSells, d.ttl)
	if err != nil {
		return err
	}
	defer bert.close(ctx)
	if err := d.sell(ctx, anna, way, holdfast.NoRenewal()); err != nil {
		return err
	}
	d.sayStep("anna has checked that she holds the lock, and is paused before she writes: nothing renews her lease.\n" +
		"     Garbage collection, a full disk or a suspended laptop have this effect.")
	d.sayStep("bert waits for the lock until anna's lease has expired.")
	if err := d.sell(ctx, bert, way); err != nil {
		return err
	}
	if way == wayPlain {
		if err := d.present(ctx, bert, way); err != nil {
			return err
		}
		return d.late(ctx, anna, way)
	}
	if err := d.late(ctx, anna, way); err != nil {
		return err
	}
	if err := d.present(ctx, bert, way); err != nil || way == wayWrite {
		return err
	}
	return d.again(ctx, anna, way)
}

// sell has a worker acquire the lock and read the file.
func (d *demo) sell(ctx context.Context, w *worker, way string, options ...holdfast.AcquireOption) error {
	if err := w.read(ctx, way, options...); err != nil {
		return err
	}
	raises := ""
	if way == wayRaise {
		raises = "raises the mark, "
	}
	d.sayStep("%s gets the lock with token %d, %sreads %d, and sells %d.", w.name, w.lock.Token(), raises, w.stock,
		w.sells)
	return nil
}

// present has bert write, who holds the lock.
func (d *demo) present(ctx context.Context, bert *worker, way string) error {
	if err := bert.write(ctx, way); err != nil {
		return err
	}
	d.sayStep("bert writes %d, and releases the lock.", bert.left())
	return bert.release(ctx)
}

// late has anna write, whose lease has expired, and reports the result.
func (d *demo) late(ctx context.Context, anna *worker, way string) error {
	d.sayStep("anna continues. She does not know how long she was paused, and writes.")
	err := anna.write(ctx, way)
	switch {
	case refusal(err) != "":
		d.sayStep("Refused: %s", refusal(err))
	case err != nil:
		return err
	case way == wayPlain:
		d.sayStep("The write succeeds: %d overwrites what bert wrote.", anna.left())
	default:
		d.sayStep("The write of %d succeeds: the guard has not seen bert's token yet. bert has read the old number.",
			anna.left())
	}
	return anna.release(ctx)
}

// again has anna sell under a new lease.
func (d *demo) again(ctx context.Context, anna *worker, way string) error {
	if err := anna.read(ctx, way); err != nil {
		return err
	}
	if err := anna.write(ctx, way); err != nil {
		return err
	}
	d.sayStep("anna starts again: she gets the lock with token %d, reads %d, and writes %d.",
		anna.lock.Token(), anna.stock, anna.left())
	return anna.release(ctx)
}

func (d *demo) conclude(plain, guarded, late int) error {
	d.say(`
                     sold   left in the file
  without a guard    %4d   %16d   %s
  with the guard     %4d   %16d   %s
  without the raise  %4d   %16d   %s

The lock worked in all runs. Only the check of the token, in the same step as the
write, stops a holder that does not know that its lease has expired. The guard must
have seen the token before the holder reads: Raise before the first read, or Modify,
which reads and writes in one step. There are guards for files, SQL, Redis, etcd,
HTTP and more: see docs/guards.md.`,
		annaSells+bertSells, plain, verdict(plain), annaSells+bertSells, guarded, verdict(guarded),
		annaSells+bertSells, late, verdict(late))
	if plain == demoRight || guarded != demoRight || late == demoRight {
		return fmt.Errorf("unexpected result of the demonstration: %d, %d and %d are left, and %d would be right",
			plain, guarded, late, demoRight)
	}
	return nil
}

func verdict(left int) string {
	if left == demoRight {
		return "right"
	}
	return fmt.Sprintf("wrong by %d", left-demoRight)
}
