//go:build unix

package lock

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/holdfast-io/holdfast/clients/holdfast"
	"github.com/holdfast-io/holdfast/cmd/holdfast/internal/cli"
	"github.com/holdfast-io/holdfast/cmd/holdfast/internal/connect"
	"github.com/holdfast-io/holdfast/cmd/holdfast/internal/display"
	"github.com/holdfast-io/holdfast/cmd/holdfast/internal/exit"
	"github.com/holdfast-io/holdfast/cmd/holdfast/internal/settings"
	"github.com/holdfast-io/holdfast/messages"
)

// under is the command lock: it runs another command under locks.
type command struct {
	connection       connect.Flags
	ttl, grace, wait cli.Duration
	owner            string
	metadata         cli.Metadata
	ephemeral, try   bool
	bounded          bool // there is an end to the wait

	shell   string
	onLost  cli.Choice
	verbose bool
	codes   codes

	resources []string // in the order of their keys, which is that in which they are taken
	program   executable
	say       *narrator
	guardian  *guardian // nil if the command was not run
	// over is when the process ends at the latest, set when only releasing is left to do; zero before.
	over time.Time
}

// New returns the lock command.
func New() *cobra.Command {
	u := &command{
		ttl:      cli.TTL(),
		grace:    cli.NewDuration(0, 0, cli.Millis(messages.MaxTTLMillis)),
		wait:     cli.NewDuration(0, 0, longestWait),
		metadata: cli.Metadata{},
		onLost:   cli.NewChoice(onLostTerm, onLostTerm, onLostKill, onLostIgnore),
		codes:    newCodes(),
	}
	cmd := &cobra.Command{
		Use:   "lock RESOURCE... -- COMMAND [ARG...]",
		Short: "Run a command under a lock",
		Long: `Takes the lock, runs the command, gives the lock back, and exits as the command
did, with 128+N if signal N ended it. The lease is renewed as long as the command
runs. If it cannot be, the command gets SIGTERM, and SIGKILL before anybody else
can have the lock. HOLDFAST_TOKEN in its environment is the fencing token.`,
		Example: `  holdfast lock orders.42 -- ./reindex --all
  holdfast lock nightly --try --busy-code 0 -- make report
  holdfast lock from to --wait 10s -c 'sync-stock | tee log'`,
		DisableFlagsInUseLine: true,
	}
	cli.AddFlags(cmd, "Lease", u.leaseFlags)
	cli.AddFlags(cmd, "Command", u.commandFlags)
	cli.AddFlags(cmd, "Exit codes", u.codes.addTo)
	cli.AddFlags(cmd, cli.SectionOutput, func(f *pflag.FlagSet) {
		f.BoolVarP(&u.verbose, "verbose", "v", false, "say on standard error what happens to the lock")
	})
	u.connection.AddTo(cmd)
	cmd.ValidArgsFunction = cobra.NoFileCompletions
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if err := u.load(cmd, args); err != nil {
			return err
		}
		err := u.run(cmd)
		if u.guardian != nil {
			u.guardian.passOn() // last, since we may end here
		}
		return err
	}
	return cmd
}

// longestWait is more than anybody means; who wants more wants to wait for ever, which is the default.
const longestWait = 365 * 24 * time.Hour

func (u *command) leaseFlags(f *pflag.FlagSet) {
	f.BoolVar(&u.try, "try", false, "do not wait if somebody else holds it")
	f.Var(&u.wait, "wait", "how long to wait for all of them together (default for ever)")
	f.Var(&u.ttl, "ttl", "how long the lock outlives a holder that dies")
	f.StringVar(&u.owner, "owner", "", "ask in this `NAME` [$"+settings.Variable("owner")+"] (default user@host:process)")
	settings.SetEnv(f.Lookup("owner"), settings.Variable("owner"))
	f.BoolVar(&u.ephemeral, "ephemeral", false, "faster, but the lease ends if its node does")
	f.Var(u.metadata, "metadata", "entry that get shows to others; may be repeated")
}

func (u *command) commandFlags(f *pflag.FlagSet) {
	f.StringVarP(&u.shell, "shell", "c", "", "run this `TEXT` with /bin/sh -c, in place of a command")
	f.Var(&u.onLost, "on-lost", u.onLost.List()+": what the command gets when the lease runs out")
	f.Var(&u.grace, "grace", "from SIGTERM to SIGKILL, at most half of --ttl (default a fifth)")
}

// load takes in the command line and refuses what cannot work, before anything is asked of anybody.
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
	if u.resources, err = inOrder(resources); err != nil {
		return err
	}
	if err := s.Exclude("try", []string{"wait"}, "one does not wait, the other does"); err != nil {
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

// split returns the resources, and the command behind the first "--".
func split(cmd *cobra.Command, args []string, shell string) (resources, words []string, err error) {
	dash := cmd.ArgsLenAtDash()
	if dash < 0 {
		dash = len(args)
	}
	resources, words = args[:dash], args[dash:]
	switch {
	case len(resources) == 0:
		return nil, nil, exit.Usagef("name the resource, as in: %s orders.42 -- make report", cmd.CommandPath())
	case shell != "" && dash < len(args):
		return nil, nil, exit.Usagef("--shell and a command behind -- exclude each other: choose one to run")
	case shell != "":
		return resources, []string{"/bin/sh", "-c", shell}, nil
	case cmd.ArgsLenAtDash() < 0:
		return nil, nil, exit.Usagef("put -- before the command, as in: %s orders.42 -- make report", cmd.CommandPath())
	case len(words) == 0:
		return nil, nil, exit.Usagef("name the command behind --, as in: %s orders.42 -- make report", cmd.CommandPath())
	}
	return resources, words, nil
}

// inOrder returns the resources in the order of their keys, each once. All who take several take them
// in this order, so that no two can wait for each other.
func inOrder(resources []string) ([]string, error) {
	named := make(map[string]string, len(resources))
	for _, r := range resources {
		name := messages.NormalizeResource(r)
		key, err := messages.EncodeKey(name)
		if err != nil {
			return nil, cli.BadRequest(err)
		}
		named[key] = name
	}
	ordered := make([]string, 0, len(named))
	for _, key := range slices.Sorted(maps.Keys(named)) {
		ordered = append(ordered, named[key])
	}
	return ordered, nil
}

func (u *command) checkLease(s *settings.Settings) error {
	if u.owner == "" {
		u.owner = fmt.Sprintf("%s:%d", cli.DefaultOwner(), os.Getpid())
	}
	if !s.Has("grace") {
		u.grace.Duration = u.ttl.Duration / 5
	}
	if u.grace.Duration > u.ttl.Duration/2 {
		return exit.Usagef("--grace: at most half of --ttl, which is %s, got %q: a renewal has to fit in before",
			display.Duration(u.ttl.Duration), u.grace.String())
	}
	request := &messages.AcquireRequest{Owner: u.owner, TtlMs: u.ttl.Millis(), Metadata: u.metadata}
	if err := messages.DefaultLimits().Check(request); err != nil {
		return cli.BadRequest(err)
	}
	return nil
}

// run takes the locks, runs the command and gives them back.
func (u *command) run(cmd *cobra.Command) error {
	u.say = newNarrator(cmd.ErrOrStderr(), u.verbose)
	defer u.say.close()
	signals := newRelay(cmd.Context())
	defer signals.close()
	nc, err := u.connect(cmd, signals)
	if err != nil {
		return err
	}
	defer nc.Close()
	client, err := holdfast.New(nc, holdfast.Prefix(u.connection.Prefix), holdfast.Timeout(u.connection.Timeout.Duration),
		holdfast.OnJeopardy(u.say.jeopardy))
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
func (u *command) connect(cmd *cobra.Command, signals *relay) (*nats.Conn, error) {
	ctx, stop := signals.interrupt(cmd.Context())
	defer stop()
	nc, err := u.connection.Open(ctx, "lock", cmd.ErrOrStderr())
	if stop(); err == nil && ctx.Err() != nil {
		nc.Close()
		err = context.Cause(ctx)
	}
	if err != nil {
		return nil, u.notRun(ctx, strings.Join(u.resources, ", "), err)
	}
	return nc, nil
}

// close ends the client. Its locks have been released, so it only has to withdraw what it waited for.
// That the time for it is over is no news: the lease or the queue ends by itself.
func (u *command) close(client *holdfast.Client) {
	ctx, cancel := u.parting(nil)
	defer cancel()
	if err := client.Close(ctx); err != nil && !errors.Is(err, context.DeadlineExceeded) {
		u.say.detail("%s", plain(err))
	}
}

// parting returns the context of everything that is done after the command, or in its place: one bound for
// all of it, and never longer than a lease is left that could be released.
func (u *command) parting(held *locks) (context.Context, context.CancelFunc) {
	if u.over.IsZero() {
		u.over = time.Now().Add(u.connection.Parting())
	}
	if held != nil {
		u.over = held.last(u.over)
	}
	return context.WithDeadline(context.Background(), u.over)
}

// guard runs the command under the locks, which it releases.
func (u *command) guard(held *locks, signals *relay) error {
	tty := openForeground()
	defer tty.close()
	signals.listen(relayed) // before there is anybody who could be sent one
	c, err := u.program.start(held.environ(os.Environ()))
	if err != nil {
		_ = u.release(held) // the first reason is what counts
		return err
	}
	u.guardian = newGuardian(c, held, tty, signals, u.say, newUltimatum(u.onLost.Word, u.grace.Duration))
	u.guardian.watch()
	return u.outcome(u.release(held))
}

// release gives the locks back. That it cannot be done now does no harm but to those who wait.
func (u *command) release(held *locks) error {
	ctx, cancel := u.parting(held)
	defer cancel()
	err := held.release(ctx)
	switch {
	case err == nil:
		u.say.detail("released %s", held.names())
	case !isLost(err):
		u.say.always("cannot release %s: %s; the lease runs out within %s", held.names(), plain(err), display.Duration(u.ttl.Duration))
	}
	return err
}

// outcome returns how to exit: as the command did, unless it was ended for want of the lock, or had run
// without.
func (u *command) outcome(released error) error {
	switch {
	case u.guardian.ultimatum.given():
		return &exit.Error{Code: u.codes.lost.Value}
	case isLost(released) && u.onLost.Word == onLostIgnore:
		u.say.always("the lock was lost while the command ran: %s", plain(released))
	case isLost(released):
		return exit.Errorf(u.codes.lost.Value, "the lock was lost while the command ran: %s", plain(released))
	}
	if code := u.guardian.status.code(); code != exit.Done {
		return &exit.Error{Code: code}
	}
	return nil
}

// plain is an error of the client in one line, without the name that every line begins with anyway.
func plain(err error) string {
	return strings.ReplaceAll(display.OneLine(err.Error()), "holdfast: ", "")
}
