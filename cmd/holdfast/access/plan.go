package access

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/holdfast-io/holdfast/cmd/holdfast/internal/cli"
	"github.com/holdfast-io/holdfast/cmd/holdfast/internal/exit"
)

// planFlags are those of the command deployment.
type planFlags struct {
	deploymentFlags
	layout       cli.Choice
	users        bool
	applications []string
}

func newDeployment() *cobra.Command {
	p := &planFlags{layout: cli.NewChoice(string(Single), string(Single), string(Import), string(Accounts),
		string(Tenants))}
	cmd := &cobra.Command{
		Use:   "deployment [PATTERN...]",
		Short: "Print the accounts and users of a whole deployment",
		Long: `Prints a section of a NATS configuration with the accounts and users of a deployment:
nodes, operators and a client for each application. The layouts:

  single    one account; clients name their owners themselves
  import    one account, for serve --identity user: clients have the prefix locks
  accounts  accounts for nodes, for operators and for each application, which share
            the locks
  tenants   the same for serve --tenants: each account has locks of its own

The patterns are the resources of each application that has none of its own. Without
them, of several that share the locks each gets those below its own name: ORDERS has
orders and orders.>.

Passwords are variables. Set them in the environment of the NATS server.`,
		Example: `  holdfast access deployment --application ORDERS --application PEOPLE
  holdfast access deployment --application ORDERS='orders.>' --application PEOPLE='people.>,staff.>'
  holdfast access deployment --layout accounts --application ORDERS --verified-users 'orders.>'`,
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE:              p.run,
	}
	cli.AddFlags(cmd, "Accounts", func(f *pflag.FlagSet) {
		f.Var(&p.layout, "layout", p.layout.List())
		f.StringArrayVar(&p.applications, "application", []string{"ORDERS"},
			"`NAME[=PATTERN,...]` of an account of clients, in one account of a user, and its resources; repeatable")
		f.BoolVar(&p.users, "verified-users", false,
			"nodes are told the users of accounts (--identity user), and log in with an nkey")
	})
	cli.AddFlags(cmd, "Deployment", p.addTo)
	return cmd
}

// accountName is what can be an account and a level of a subject.
var accountName = matches(`^[A-Z][A-Z0-9_]{0,63}$`)

func (p *planFlags) run(cmd *cobra.Command, args []string) error {
	d, err := p.parse(cmd.Flags())
	if err != nil {
		return err
	}
	layout := Layout(p.layout.Word)
	applications, err := p.parseApplications(layout, args)
	switch {
	case err != nil:
		return err
	case layout == Single && p.users:
		return exit.Usagef("--verified-users goes with the layouts import, accounts and tenants")
	case layout == Import && d.Prefix == clientPrefix:
		return exit.Usagef("--prefix: not %s, which is that of the clients in the layout import", clientPrefix)
	}
	plan := Plan{Deployment: d, Layout: layout, Users: p.users || layout == Import, Applications: applications}
	_, err = io.WriteString(cmd.OutOrStdout(), plan.Conf())
	return err
}

// parseApplications returns the applications. It refuses names that are used, or that cannot be both an account and a
// user.
func (p *planFlags) parseApplications(layout Layout, patterns []string) (all []Application, err error) {
	if len(p.applications) > maxApplications {
		return nil, exit.Usagef("--application: at most %d, got %d", maxApplications, len(p.applications))
	}
	taken := []string{nodesAccount, operatorsAccount, "OPERATOR", "TENANT_OPERATOR", "METRICS", "WATCHER", "AGENT",
		"SYS", "SYSTEM"}
	for _, given := range p.applications {
		name, own, _ := strings.Cut(given, "=")
		var err error
		switch {
		case !accountName(name):
			err = errors.New("a letter, then at most 63 letters, digits and _, all in upper case")
		case slices.Contains(taken, name):
			err = fmt.Errorf("another name than %s, which the deployment uses", strings.Join(taken, ", "))
		case slices.ContainsFunc(all, func(a Application) bool { return a.Name == name }):
			err = errors.New("each name once")
		}
		if err != nil {
			return nil, cli.BadValue("--application", name, err)
		}
		of := patterns
		switch {
		case own != "":
			of = strings.Split(own, ",")
		case len(of) > 0:
		case layout == Tenants || len(p.applications) == 1:
			of = everything
		default: // they share the locks
			of = []string{strings.ToLower(name), strings.ToLower(name) + ".>"}
		}
		keys, err := parsePatterns(of)
		if err != nil {
			return nil, err
		}
		all = append(all, Application{name, keys})
	}
	return all, nil
}
