// Package demo is the command that shows on one machine what a fencing token is for.
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
		Short:             "See on your own machine what Holdfast is for",
		Args:              cli.KnownCommand,
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE:              func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newDemoFencing(), newDemoWorker())
	return cmd
}

// The demonstration's numbers: so many pieces are in stock, and so many does each worker sell.
const (
	demoStock    = 100
	annaSells    = 30
	bertSells    = 5
	demoRight    = demoStock - annaSells - bertSells
	demoResource = "stock"
	demoFile     = "stock.txt"
)

// demoPatience bounds every step of the demonstration beyond the lease that it waits for.
const demoPatience = 30 * time.Second

func newDemoFencing() *cobra.Command {
	ttl := cli.NewDuration(2*time.Second, 500*time.Millisecond, time.Minute)
	cmd := &cobra.Command{
		Use:   "fencing",
		Short: "A worker is paused past its lease and then writes, without a guard and with it",
		Long: `Runs a lock service and two workers on this machine, all of them real processes
in a folder of their own that is removed at the end. One worker is stopped between
reading and writing until its lease has run out and the other has had the lock.
Then it goes on, and writes: once into a plain file, and once past a guard that
checks the fencing token.`,
		Args:              cli.NoArguments,
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, _ []string) error {
			d := &demo{out: cmd.OutOrStdout(), ttl: ttl.Duration}
			return d.run(cmd.Context())
		},
	}
	cli.AddFlags(cmd, cli.SectionOther, func(f *pflag.FlagSet) {
		f.Var(&ttl, "ttl", "how long a lease lasts, and the pause at least")
	})
	return cmd
}

// demo tells the story of a paused worker while it happens.
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
	server, err := startProcess(ctx, "serve", "--listen", "127.0.0.1:0", "--data", filepath.Join(d.dir, "data"))
	if err != nil {
		return err
	}
	defer server.kill()
	if d.url, err = server.ready(ctx); err != nil {
		return err
	}
	d.say("Two workers sell from one stock. How much is left stands in a file. Each takes\n"+
		"the lock %q, reads the file, and writes back what is left. A lease lasts %v.", demoResource, d.ttl)
	plain, err := d.act(ctx, "Without a guard: whoever writes, writes", false)
	if err != nil {
		return err
	}
	guarded, err := d.act(ctx, "With a guard: the file remembers the highest token", true)
	if err != nil {
		return err
	}
	return d.conclude(plain, guarded)
}

func (d *demo) say(format string, args ...any) {
	_, _ = fmt.Fprintf(d.out, format+"\n", args...)
}

// tell is one step of the story.
func (d *demo) tell(format string, args ...any) {
	d.step++
	d.say("%3d. %s", d.step, fmt.Sprintf(format, args...))
}

// act plays the story once and returns what the file says in the end.
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
		d.tell("The file says %d. %d of %d were sold, so %d should be left.",
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
	d.tell("anna has seen that the lock is hers, and is paused before she writes (SIGSTOP):\n" +
		"     it could be a garbage collection, a full disk, a laptop's lid.")
	if err := d.other(ctx, guarded); err != nil {
		return err
	}
	d.tell("anna goes on (SIGCONT). She cannot know how long she was away, and writes.")
	if err := cmp.Or(anna.order("write"), anna.resume()); err != nil {
		return err
	}
	return d.aftermath(ctx, anna, guarded)
}

// other is what the second worker does while the first is paused.
func (d *demo) other(ctx context.Context, guarded bool) error {
	bert, err := d.worker(ctx, "bert", bertSells, guarded)
	if err != nil {
		return err
	}
	defer bert.kill()
	d.tell("bert waits for the lock, until anna's lease has run out.")
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

// aftermath is what comes of the late write.
func (d *demo) aftermath(ctx context.Context, anna *process, guarded bool) error {
	if !guarded {
		wrote, err := anna.hear(ctx, "wrote")
		if err == nil {
			d.tell("Nothing stops her: she writes %s over what bert wrote.", wrote)
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
		d.tell("So she knows, and does it again: token %s, she reads %s and writes %s.", token, read, wrote)
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

// write lets a worker write, and returns what.
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

The lock was the same both times, and it worked. It is the check of the token, in
the same step as the write, that stops a holder who does not know that he is late.
There are guards for files, SQL, Redis, etcd, HTTP and more: see docs/fencing.md.`,
		annaSells+bertSells, plain, verdict(plain), annaSells+bertSells, guarded, verdict(guarded))
	if plain == demoRight || guarded != demoRight {
		return fmt.Errorf("the demonstration went otherwise than told; %d and %d are left, %d would be right",
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
