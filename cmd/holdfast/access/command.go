package access

import (
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/holdfast-io/holdfast/cmd/holdfast/internal/cli"
	"github.com/holdfast-io/holdfast/cmd/holdfast/internal/display"
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
	// defaultShards is the number of shards of a deployment that is created without another one.
	defaultShards = 1
	// maxShards is that of any deployment.
	maxShards = 1024
	// maxPatterns and maxApplications bound what is printed.
	maxPatterns     = 100
	maxApplications = 100
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
	for _, of := range roles {
		r := &role{user: of.user}
		sub := r.command(of.use, of.flags)
		sub.Short, sub.Long, sub.Example = of.short, of.long, of.example
		cmd.AddCommand(sub)
	}
	cmd.AddCommand(newDeployment())
	return cmd
}

// role is the command of one role: the flags that all have, and the terms of its user.
type role struct {
	deploymentFlags
	Terms
	format        cli.Choice
	account, nkey string
	user          func(Deployment, Terms) User
}

// deploymentFlags are those of [Deployment].
type deploymentFlags struct {
	prefix string
	shards cli.Number
	others []string
}

func (d *deploymentFlags) addTo(f *pflag.FlagSet) {
	d.shards = cli.NewNumber(defaultShards, 1, maxShards)
	f.StringVar(&d.prefix, "prefix", string(messages.DefaultPrefix),
		"`NAME` with which the deployment's subjects begin")
	f.Var(&d.shards, "shards", "shards of the deployment, as nats req holdfast.info shows them")
	f.StringSliceVar(&d.others, "generations", nil,
		"comma-separated `LIST` of later generations of shards, in use or to come, as in 1:8 for 8 shards in generation 1")
	settings.SetEnv(f.Lookup("prefix"), settings.Variable("prefix"))
}

// parse loads the settings of a command and returns the deployment.
func (d *deploymentFlags) parse(flags *pflag.FlagSet) (Deployment, error) {
	s, err := settings.Load(flags)
	if err != nil {
		return Deployment{}, err
	}
	prefix, err := messages.ParsePrefix(d.prefix)
	if err != nil {
		return Deployment{}, cli.BadValue(s.Given["prefix"], d.prefix, err)
	}
	of := Deployment{Prefix: prefix, Shards: uint32(d.shards.Value)}
	for _, text := range d.others {
		var g messages.Shards
		if n, err := fmt.Sscanf(text, "%d:%d", &g.Generation, &g.Count); n != 2 || err != nil || g.Generation == 0 ||
			g.Count == 0 || g.Count > maxShards {
			return Deployment{}, exit.Usagef("--generations: a generation above 0 and its number of shards, as in 1:8, got %s",
				display.Quote(text))
		}
		of.Others = append(of.Others, g)
	}
	return of, nil
}

// command returns the command of a role, with its own flags.
func (r *role) command(use string, own func(*Terms, *pflag.FlagSet)) *cobra.Command {
	name, _, _ := strings.Cut(use, " ")
	cmd := &cobra.Command{Use: use, ValidArgsFunction: cobra.NoFileCompletions, RunE: r.run}
	r.format = cli.NewChoice(formatConf, formatConf, formatNSC)
	cli.AddFlags(cmd, "User", func(f *pflag.FlagSet) {
		f.StringVar(&r.User, "user", name, "`NAME` of the user")
		f.StringVar(&r.nkey, "nkey", "", "public `KEY` of the user, in place of a password")
		f.StringVar(&r.Inbox, "inbox-prefix", "",
			"`SUBJECT` with which the user's inboxes begin (default: _INBOX. and the user; of nodes _INBOX)")
		if own != nil {
			own(&r.Terms, f)
		}
	})
	cli.AddFlags(cmd, "Deployment", r.addTo)
	cli.AddFlags(cmd, cli.SectionOutput, func(f *pflag.FlagSet) {
		f.Var(&r.format, "format",
			"conf: a section of a NATS configuration, with passwords as variables; nsc: a shell script")
		f.StringVar(&r.account, "account", nodesAccount, "`NAME` of the account in the script for nsc")
	})
	return cmd
}

func (r *role) run(cmd *cobra.Command, args []string) error {
	d, err := r.parse(cmd.Flags())
	if err != nil {
		return err
	}
	if cmd.Use == cmd.Name() {
		err = cli.NoArguments(cmd, args)
	} else {
		r.Keys, err = parsePatterns(args)
	}
	if err == nil {
		err = r.check(cmd)
	}
	if err != nil {
		return err
	}
	u := r.user(d, r.Terms)
	u.NKey = r.nkey
	text := Conf([]User{u})
	if r.format.Word == formatNSC {
		text = NSC(u, r.account)
	}
	_, err = io.WriteString(cmd.OutOrStdout(), text)
	return err
}

var (
	// userName is what can be a level of an inbox prefix, a part of the name of a variable, and a word of a shell.
	userName = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_-]{0,63}$`)
	nkeyRule = regexp.MustCompile(`^U[A-Z2-7]{55}$`)
)

var errUserName = errors.New("a letter, then at most 63 letters, digits, _ and -")

// check refuses flags that cannot work.
func (r *role) check(cmd *cobra.Command) error {
	switch {
	case !userName.MatchString(r.User):
		return cli.BadValue("--user", r.User, errUserName)
	case !userName.MatchString(r.account):
		return cli.BadValue("--account", r.account, errUserName)
	case r.nkey != "" && !nkeyRule.MatchString(r.nkey):
		return cli.BadValue("--nkey", r.nkey, errors.New("a public key of a user: U and 55 of A-Z and 2-7"))
	case cmd.Flags().Changed("account") && r.format.Word != formatNSC:
		return exit.Usagef(
			"--account goes with --format nsc; for the accounts of a configuration see holdfast access deployment")
	}
	if err := checkInbox(r.Inbox); err != nil {
		return err
	}
	if r.Consumers && r.Imported {
		return exit.Usagef("--consumers or --imported: there are no consumers through an import")
	}
	return cli.CheckTenant(r.Tenant, true)
}

// checkInbox refuses what lets a client read answers, requests or events of others: the user may subscribe to all below
// it.
func checkInbox(inbox string) error {
	switch {
	case inbox == "":
		return nil
	case !strings.HasPrefix(inbox, defaultInbox):
		return cli.BadValue("--inbox-prefix", inbox,
			errors.New(
				"a subject that begins with _INBOX, which no requests and events have, as in _INBOX.orders or "+
					"_INBOX_orders"))
	}
	for level := range strings.SplitSeq(inbox, ".") {
		if !userName.MatchString(strings.TrimLeft(level, "_")) {
			return cli.BadValue("--inbox-prefix", inbox,
				errors.New(
					"levels of letters, digits, _ and -, joined by dots, without wildcards, as in _INBOX.orders"))
		}
	}
	return nil
}

// parsePatterns returns the keys of patterns of resources.
func parsePatterns(args []string) ([]string, error) {
	switch {
	case len(args) == 0:
		return nil, exit.Usagef("name the resources, as in 'orders.>'; '>' stands for all")
	case len(args) > maxPatterns:
		return nil, exit.Usagef("at most %d patterns, got %d", maxPatterns, len(args))
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
