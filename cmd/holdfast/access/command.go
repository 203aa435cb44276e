package access

import (
	"errors"
	"io"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/holdfast-io/holdfast/cmd/holdfast/internal/cli"
	"github.com/holdfast-io/holdfast/cmd/holdfast/internal/exit"
	"github.com/holdfast-io/holdfast/cmd/holdfast/internal/settings"
	"github.com/holdfast-io/holdfast/messages"
)

// The formats of a user.
const (
	formatConf = "conf"
	formatNSC  = "nsc"
)

const (
	// defaultShards is the number of shards of a deployment of several nodes.
	defaultShards = 4
	// mostShards is that of any deployment.
	mostShards = 1024
	// mostPatterns and mostApplications bound what is printed.
	mostPatterns     = 100
	mostApplications = 100
)

// New returns the access command, with a command for each role.
func New() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "access ROLE",
		Short: "Print the NATS users and permissions for a role",
		Long: `Prints what an administrator of NATS needs: a user with the permissions of a role, as
a NATS configuration or as a script for nsc. Each list says what its subjects are for.
It connects to nothing and changes nothing.

A user that reads journals (watcher, agent, backup, operator --doctor) belongs into an
account of its own, because JetStream answers to any reply subject of the account that
asks. "holdfast access deployment" prints the accounts of a whole deployment.`,
		Example: `  holdfast access client 'orders.>' --user orders
  holdfast access node --shards 4
  holdfast access operator --format nsc --account OPERATORS
  holdfast access deployment --layout accounts --application ORDERS`,
		Args:              cli.KnownCommand,
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE:              func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newNode(), newClient(), newOperator(), newWatcher(), newAgent(), newMetrics(), newBackup(), newDeployment())
	return cmd
}

// role is the command of one role: the flags that all have, and the patterns of resources.
type role struct {
	deploymentFlags
	format  cli.Choice
	user    string
	account string
	nkey    string
	inbox   string
	keys    []string
	// conflict reports flags of the role that exclude one another; nil: there are none.
	conflict func() error
}

// deploymentFlags are those of [Deployment].
type deploymentFlags struct {
	prefix string
	shards cli.Number
}

func (d *deploymentFlags) addTo(f *pflag.FlagSet) {
	d.shards = cli.NewNumber(defaultShards, 1, mostShards)
	f.StringVar(&d.prefix, "prefix", string(messages.DefaultPrefix), "`NAME` with which the deployment's subjects begin")
	f.Var(&d.shards, "shards", "shards of the deployment, as nats req holdfast.info shows them")
	settings.SetEnv(f.Lookup("prefix"), settings.Variable("prefix"))
}

// parse returns the deployment of the flags.
func (d *deploymentFlags) parse(s *settings.Settings) (Deployment, error) {
	prefix, err := messages.ParsePrefix(d.prefix)
	if err != nil {
		return Deployment{}, cli.BadValue(s.Given["prefix"], d.prefix, err)
	}
	return Deployment{Prefix: prefix, Shards: uint32(d.shards.Value)}, nil
}

// command returns the command of a role. what returns its user once the flags are parsed.
func (r *role) command(use, short, long string, more func(*pflag.FlagSet), what func(Deployment) User) *cobra.Command {
	name, _, takesPatterns := strings.Cut(use, " ")
	cmd := &cobra.Command{
		Use: use, Short: short, Long: long,
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, args []string) error {
			given, err := settings.Load(cmd.Flags())
			if err != nil {
				return err
			}
			d, err := r.parse(given)
			if err != nil {
				return err
			}
			if takesPatterns {
				r.keys, err = parsePatterns(args)
			} else {
				err = cli.NoArguments(cmd, args)
			}
			if err == nil {
				err = r.check(cmd)
			}
			if err != nil {
				return err
			}
			u := what(d)
			u.NKey = r.nkey
			return r.print(cmd.OutOrStdout(), u)
		},
	}
	r.format = cli.NewChoice(formatConf, formatConf, formatNSC)
	cli.AddFlags(cmd, "User", func(f *pflag.FlagSet) {
		f.StringVar(&r.user, "user", name, "`NAME` of the user")
		f.StringVar(&r.nkey, "nkey", "", "public `KEY` of the user, in place of a password")
		f.StringVar(&r.inbox, "inbox-prefix", "", "`SUBJECT` with which the user's inboxes begin (default: _INBOX. and the user; of nodes _INBOX)")
		if more != nil {
			more(f)
		}
	})
	cli.AddFlags(cmd, "Deployment", r.addTo)
	cli.AddFlags(cmd, cli.SectionOutput, func(f *pflag.FlagSet) {
		f.Var(&r.format, "format", "conf: a section of a NATS configuration, with passwords as variables; nsc: a shell script")
		f.StringVar(&r.account, "account", nodesAccount, "`NAME` of the account in the script for nsc")
	})
	return cmd
}

func (r *role) print(w io.Writer, u User) error {
	text := Conf([]User{u})
	if r.format.Word == formatNSC {
		text = NSC(u, r.account)
	}
	_, err := io.WriteString(w, text)
	return err
}

var (
	// userName is what can be a level of an inbox prefix, a part of the name of a variable, and a word of a shell.
	userName = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_-]{0,63}$`)
	nkeyRule = regexp.MustCompile(`^U[A-Z2-7]{55}$`)
)

var errUserName = errors.New("a letter, then at most 63 letters, digits, _ and -")

// check checks the flags and fills in what depends on others.
func (r *role) check(cmd *cobra.Command) error {
	switch {
	case !userName.MatchString(r.user):
		return cli.BadValue("--user", r.user, errUserName)
	case !userName.MatchString(r.account):
		return cli.BadValue("--account", r.account, errUserName)
	case r.nkey != "" && !nkeyRule.MatchString(r.nkey):
		return cli.BadValue("--nkey", r.nkey, errors.New("a public key of a user: U and 55 of A-Z and 2-7"))
	case cmd.Flags().Changed("account") && r.format.Word != formatNSC:
		return exit.Usagef("--account goes with --format nsc; for the accounts of a configuration see holdfast access deployment")
	case r.inbox == "":
		r.inbox = inboxOf(r.user)
		if cmd.Name() == "node" {
			r.inbox = defaultInbox
		}
	}
	if err := checkInbox(r.inbox); err != nil || r.conflict == nil {
		return err
	}
	return r.conflict()
}

// checkInbox refuses what lets a client read answers, requests or events of others: the user may subscribe to all below it.
func checkInbox(inbox string) error {
	if !strings.HasPrefix(inbox, defaultInbox) {
		return cli.BadValue("--inbox-prefix", inbox, errors.New("a subject that begins with _INBOX, which no requests and events have, as in _INBOX.orders or _INBOX_orders"))
	}
	for level := range strings.SplitSeq(inbox, ".") {
		if !userName.MatchString(strings.TrimLeft(level, "_")) {
			return cli.BadValue("--inbox-prefix", inbox, errors.New("levels of letters, digits, _ and -, joined by dots, without wildcards, as in _INBOX.orders"))
		}
	}
	return nil
}

// parsePatterns returns the keys of patterns of resources.
func parsePatterns(args []string) ([]string, error) {
	switch {
	case len(args) == 0:
		return nil, exit.Usagef("name the resources, as in 'orders.>'; '>' stands for all")
	case len(args) > mostPatterns:
		return nil, exit.Usagef("at most %d patterns, got %d", mostPatterns, len(args))
	}
	var keys []string
	for _, arg := range args {
		p, err := cli.ParsePattern(arg)
		if err != nil {
			return nil, err
		}
		if !slices.Contains(keys, p.Key) {
			keys = append(keys, p.Key)
		}
	}
	return keys, nil
}
