//go:build unix

package lock

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/holdfast-io/holdfast/clients/holdfast"
	"github.com/holdfast-io/holdfast/cmd/holdfast/internal/cli"
	"github.com/holdfast-io/holdfast/cmd/holdfast/internal/connect"
	"github.com/holdfast-io/holdfast/cmd/holdfast/internal/display"
	"github.com/holdfast-io/holdfast/cmd/holdfast/internal/exit"
	"github.com/holdfast-io/holdfast/cmd/holdfast/internal/program"
	"github.com/holdfast-io/holdfast/cmd/holdfast/internal/settings"
	"github.com/holdfast-io/holdfast/messages"
)

// command is the lock command: its flags, its arguments and the state of its run.
type command struct {
	connection       connect.Flags
	ttl, grace, wait cli.Duration
	quiet            bool
	disconnect       cli.Duration // 0: the lease lasts when the connection is gone
	owner            string
	metadata         cli.Metadata
	sharing          cli.Sharing
	holdBack         cli.HoldBack
	minHold          cli.MinHold
	maxHold          cli.Duration // 0: there is no longest hold
	ephemeral, try   bool
	bounded          bool // the wait is limited

	// election: the lock is that of an election, whose leader publishes value.
	election bool
	value    string

	shell   string
	device  string // of the watchdog; empty: none
	onLost  cli.Choice
	yield   yield
	verbose bool
	codes   codes

	resources  []string
	program    executable
	report     *reporter
	supervisor *supervisor // nil if the command was not run
	// begun is when the locks were asked for.
	begun time.Time
	// releaseBy is the time limit for the release and the close of the client; zero until the first of them.
	releaseBy time.Time
}

func newCommand() *command {
	return &command{
		ttl:   cli.TTL(),
		grace: cli.NewDuration(0, 0, cli.Millis(messages.MaxTTLMillis)),
		wait:  cli.NewDuration(0, 0, cli.LongestWait),
		disconnect: cli.NewDuration(0, cli.Millis(messages.MinDisconnectMillis),
			cli.Millis(messages.MaxDisconnectMillis)),
		metadata: cli.Metadata{},
		sharing:  cli.NewSharing(),
		holdBack: cli.NewHoldBack(),
		minHold:  cli.NewMinHold(),
		maxHold:  cli.NewDuration(0, cli.Millis(messages.MinTTLMillis), cli.LongestWait),
		onLost:   cli.NewChoice(onLostTerm, onLostTerm, onLostKill, onLostIgnore),
		codes:    newCodes(),
	}
}

// New returns the lock command.
func New() *cobra.Command {
	u := newCommand()
	cmd := &cobra.Command{
		Use:   "lock RESOURCE... -- COMMAND [ARG...]",
		Short: "Run a command under a lock",
		Long: `Acquires the lock, runs the command, releases the lock, and exits with the exit
code of the command, or 128+N if signal N ended it. The lease is renewed while
the command runs. If renewal fails, the command gets SIGTERM, and SIGKILL before
another holder can get the lock.

--shared acquires the lock as a reader, beside other readers, and --limit one of
the permits of a semaphore.

With --confirm or --delay the resource is held back if the lease is lost, for
example because this machine was paused: see holdfast fence-agent.

--min-hold keeps a job that ends at once from running again on a machine whose
clock is behind, --max-hold one that hangs from holding the lock for ever.

The environment of the command has, the first two only with one lock:

  HOLDFAST_TOKEN        the fencing token, 15 digits, for the protected resource;
                        of a shared lock the fence
  HOLDFAST_RESOURCE     the resource, in Unicode NFC
  HOLDFAST_TOKENS       the tokens of all locks, one a line
  HOLDFAST_RESOURCES    their resources, in the same order; no name contains a
                        line break
  HOLDFAST_SLOTS        with --shared or --limit, a line for each lock: the
                        numbers of the permits, as in 0,3
  HOLDFAST_SLOT_TOKENS  with --shared or --limit, a line for each lock: the token
                        for the claims of the slots, RESOURCE#SLOT

NATS_PASSWORD and HOLDFAST_PASSWORD are not passed on, nor is a NATS_USER that is
a token, nor a NATS_URL with a login.`,
		Example: `  holdfast lock orders.42 -- ./reindex --all
  holdfast lock nightly --try --busy-code 0 --min-hold 1m -- make report
  holdfast lock catalog --shared -- ./export
  holdfast lock api --limit 5 -- ./crawl
  holdfast lock from to --wait 10s -c 'sync-stock | tee log'`,
		DisableFlagsInUseLine: true,
	}
	cli.AddFlags(cmd, "Lease", u.leaseFlags)
	u.addTo(cmd)
	return cmd
}

// addTo adds the flags that are not of the lease, and the action of the command.
func (u *command) addTo(cmd *cobra.Command) {
	cli.AddFlags(cmd, "Command", u.commandFlags)
	cli.AddFlags(cmd, "Exit codes", u.codes.addTo)
	cli.AddFlags(cmd, cli.SectionOutput, func(f *pflag.FlagSet) {
		f.BoolVarP(&u.quiet, "quiet", "q", false,
			"do not say that another owner holds the lock, as for cron; the exit code says it")
		f.BoolVarP(&u.verbose, "verbose", "v", false, "log acquisition, renewal problems and release to standard error")
	})
	u.connection.AddTo(cmd)
	cmd.ValidArgsFunction = cobra.NoFileCompletions
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if err := u.load(cmd, args); err != nil {
			return err
		}
		err := u.run(cmd)
		if u.quiet && exit.CodeOf(err) == u.codes.busy.Value {
			err = &exit.Error{Code: u.codes.busy.Value}
		}
		if u.supervisor != nil {
			u.supervisor.propagateInterrupt() // last, since it may end this process
		}
		return err
	}
}

func (u *command) leaseFlags(f *pflag.FlagSet) {
	f.BoolVar(&u.try, "try", false, "do not wait if the lock is held")
	u.sharing.AddTo(f)
	f.Var(&u.wait, "wait", "time to wait for all the locks together (default unlimited)")
	u.commonLeaseFlags(f)
	u.minHold.AddTo(f)
	f.BoolVar(&u.ephemeral, "ephemeral", false, "faster, but the lease ends if its node stops")
}

// commonLeaseFlags are those of every lease.
func (u *command) commonLeaseFlags(f *pflag.FlagSet) {
	f.Var(&u.ttl, "ttl", "duration of the lease")
	f.StringVar(&u.owner, "owner", "", "`NAME` of the owner [$"+settings.Variable("owner")+
		"] (default user@host:process)")
	settings.SetEnv(f.Lookup("owner"), settings.Variable("owner"))
	f.Var(&u.disconnect, "disconnect",
		"release the lock after this time without a connection, if another request waits (default: when the lease "+
			"expires)")
	u.holdBack.AddTo(f)
	f.Var(&u.maxHold, "max-hold", "renew the lock for no longer than this time, then end the command (default unlimited)")
	f.Var(u.metadata, "metadata", "entry that get shows; may be repeated")
}

func (u *command) commandFlags(f *pflag.FlagSet) {
	f.StringVarP(&u.shell, "shell", "c", "", "run this `TEXT` with /bin/sh -c, instead of a command")
	f.Var(&u.onLost, "on-lost", u.onLost.List()+": how to end the command when the lease cannot be renewed")
	f.Var(&u.yield, "yield", "send this signal to the command, once, when others want the lock")
	f.StringVar(&u.device, "watchdog", "",
		"feed the watchdog `DEVICE` after each renewal, so that it resets the machine if the command cannot be ended")
	f.Var(&u.grace, "grace",
		"time from SIGTERM to SIGKILL, at most half of --ttl, --disconnect and --max-hold (default a fifth)")
}

// load reads and validates the command line, before the first request.
func (u *command) load(cmd *cobra.Command, args []string) error {
	u.codes.flags = cmd.Flags()
	s, err := settings.Load(cmd.Flags())
	if err != nil {
		return err
	}
	resources, words, err := split(cmd, args, u.shell)
	if err != nil {
		return err
	}
	if err := checkNames(resources); err != nil {
		return err
	}
	u.resources = resources
	if err := s.Exclude("try", []string{"wait"}, "--try does not wait"); err != nil {
		return err
	}
	u.bounded = u.try || s.Has("wait")
	if err := u.checkLease(s); err != nil {
		return err
	}
	if err := u.connection.Check(s); err != nil {
		return err
	}
	u.program, err = findExecutable(words)
	return err
}

// split returns the resources, and the words of the command after the first "--".
func split(cmd *cobra.Command, args []string, shell string) (resources, words []string, err error) {
	dash := cmd.ArgsLenAtDash()
	switch {
	case shell == "" || len(args) == 0 || dash == 0:
		return program.Split(cmd, args, "resource", "orders.42 -- make report")
	case dash >= 0 && dash < len(args):
		return nil, nil, exit.Usagef("--shell and a command after -- exclude each other: choose one to run")
	}
	return args, []string{"/bin/sh", "-c", shell}, nil
}

// checkNames refuses a name that no resource can have.
func checkNames(resources []string) error {
	for _, r := range resources {
		if _, err := messages.EncodeKey(messages.NormalizeResource(r)); err != nil {
			return cli.BadRequest(err)
		}
	}
	return nil
}

func (u *command) checkLease(s *settings.Settings) error {
	if err := cmp.Or(u.sharing.Check(), u.holdBack.Check(u.ephemeral),
		u.minHold.Check(u.sharing.On(), u.ephemeral)); err != nil {
		return err
	}
	if u.owner == "" {
		u.owner = fmt.Sprintf("%s:%d", cli.DefaultOwner(), os.Getpid())
	}
	if u.election {
		if err := u.checkElection(); err != nil {
			return err
		}
	}
	lasts, flag := u.lasts()
	if !s.Has("grace") {
		u.grace.Duration = lasts / 5
	}
	if u.grace.Duration > lasts/2 {
		return exit.Usagef("--grace: at most half of %s, which is %s, got %q: the rest is the time for renewals",
			flag, display.Duration(lasts), u.grace.String())
	}
	request := &messages.AcquireRequest{Owner: u.owner, TtlMs: u.ttl.Millis(), Metadata: u.metadata}
	if err := messages.DefaultLimits().Check(request); err != nil {
		return cli.BadRequest(err)
	}
	return nil
}

// lasts returns how long a lease is known to last from its renewal on, and the flag that says so.
func (u *command) lasts() (time.Duration, string) {
	lasts, flag := u.ttl.Duration, "--ttl"
	if d := u.disconnect.Duration; d > 0 && d < lasts {
		lasts, flag = d, "--disconnect"
	}
	if d := u.maxHold.Duration; d > 0 && d < lasts {
		lasts, flag = d, "--max-hold"
	}
	return lasts, flag
}

// run acquires the locks, runs the command and releases the locks.
func (u *command) run(cmd *cobra.Command) error {
	u.report = newReporter(cmd.ErrOrStderr(), u.verbose)
	defer u.report.Close()
	signals := newSignalQueue(cmd.Context())
	defer signals.close()
	nc, err := u.connect(cmd, signals)
	if err != nil {
		return err
	}
	defer nc.Close()
	opts := []holdfast.Option{
		holdfast.Prefix(u.connection.Prefix), holdfast.Timeout(u.connection.Timeout.Duration),
		holdfast.OnJeopardy(u.report.jeopardy),
	}
	if u.disconnect.Duration > 0 {
		opts = append(opts, holdfast.ReleaseOnDisconnect(u.disconnect.Duration))
	}
	client, err := holdfast.New(nc, opts...)
	if err != nil {
		return u.codes.of(err)
	}
	defer u.close(client)
	held, err := u.take(cmd.Context(), client, signals)
	if err != nil {
		return err
	}
	return u.guard(held, signals)
}

// connect connects to NATS, unless a signal comes first.
func (u *command) connect(cmd *cobra.Command, signals *signalQueue) (*nats.Conn, error) {
	ctx, stop := signals.interrupt(cmd.Context())
	defer stop()
	nc, err := u.connection.Open(ctx, "lock", cmd.ErrOrStderr())
	if stop(); err == nil && ctx.Err() != nil {
		nc.Close()
		err = context.Cause(ctx)
	}
	if err != nil {
		return nil, u.notRun(ctx, err)
	}
	return nc, nil
}

// close closes the client. Its locks have been released, so it only cancels a pending wait. A timeout is not
// reported: the lease or the wait expires without it.
func (u *command) close(client *holdfast.Client) {
	ctx, cancel := u.releaseContext(nil)
	defer cancel()
	if err := client.Close(ctx); err != nil && !errors.Is(err, context.DeadlineExceeded) {
		u.report.Detail("%s", display.Plain(err))
	}
}

// releaseContext returns the context for the requests after the command, or after a failed acquisition. All of them
// share one time limit, which is at most the remaining time of the leases. held may be nil.
func (u *command) releaseContext(held *locks) (context.Context, context.CancelFunc) {
	if u.releaseBy.IsZero() {
		u.releaseBy = time.Now().Add(u.connection.Parting())
	}
	if held != nil {
		u.releaseBy = held.last(u.releaseBy)
	}
	return context.WithDeadline(context.Background(), u.releaseBy)
}

// guard runs the command under the locks and releases them.
func (u *command) guard(held *locks, signals *signalQueue) error {
	tty := openForeground()
	defer tty.close()
	signals.listen(forwarded) // before the start of the command, so that no signal is lost
	dog, err := u.openWatchdog(held)
	if err != nil {
		_ = u.release(held) // this error matters more
		return err
	}
	c, err := u.program.start(held.environ(os.Environ()))
	if err != nil {
		u.closeWatchdog(dog, true)
		_ = u.release(held) // the error of the start matters more
		return err
	}
	u.supervisor = newSupervisor(c, held, tty, signals, u.report, newTermination(u.onLost.Word, u.grace.Duration))
	u.supervisor.dog = dog
	done := make(chan struct{})
	defer close(done)
	u.supervisor.yield, u.supervisor.wanted = u.yield, u.yield.wanted(held.All(), done)
	if u.maxHold.Duration > 0 {
		u.supervisor.longest = u.begun.Add(u.maxHold.Duration)
	}
	u.supervisor.ttl, _ = u.lasts()
	u.supervisor.watch()
	u.closeWatchdog(dog, u.supervisor.isSafe())
	return u.outcome(u.release(held))
}

// openWatchdog opens the watchdog and feeds it once; nil if there is none.
func (u *command) openWatchdog(held *locks) (*watchdog, error) {
	if u.device == "" {
		return nil, nil
	}
	lasts, _ := u.lasts()
	w, err := openWatchdog(u.device, lasts)
	if err == nil {
		w.renewed(held.Deadline(), u.report)
	}
	return w, err
}

// closeWatchdog closes the watchdog, if there is one. Unless it is safe, the watchdog resets the machine.
func (u *command) closeWatchdog(w *watchdog, safe bool) {
	if w == nil {
		return
	}
	if !safe {
		u.report.Print("the watchdog %s is left on: processes of the command may still run without the lock",
			display.Name(w.path))
	}
	w.close(safe)
}

// release releases the locks. After an error the leases expire by themselves, so it is reported and no more.
func (u *command) release(held *locks) error {
	ctx, cancel := u.releaseContext(held)
	defer cancel()
	err := held.Release(ctx)
	switch {
	case err == nil:
		u.report.Detail("released %s", held.names())
	case !isLost(err):
		u.report.Print("cannot release %s: %s; the lease expires within %s", held.names(), display.Plain(err),
			display.Duration(u.ttl.Duration))
	}
	return err
}

// outcome returns the error to exit with: the exit code of the command, or --lost-code if the lock was lost.
func (u *command) outcome(released error) error {
	switch {
	case u.supervisor.termination.started():
		return &exit.Error{Code: u.codes.lost.Value}
	case isLost(released) && u.onLost.Word == onLostIgnore:
		u.report.Print("the lock was lost while the command ran: %s", display.Plain(released))
	case isLost(released):
		return exit.Errorf(u.codes.lost.Value, "the lock was lost while the command ran: %s", display.Plain(released))
	}
	if code := u.supervisor.status.code(); code != exit.Done {
		return &exit.Error{Code: code}
	}
	return nil
}
