package commands

import (
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/holdfast-io/holdfast/cmd/holdfast/internal/cli"
	"github.com/holdfast-io/holdfast/cmd/holdfast/internal/connect"
	"github.com/holdfast-io/holdfast/cmd/holdfast/internal/display"
	"github.com/holdfast-io/holdfast/cmd/holdfast/internal/exit"
	"github.com/holdfast-io/holdfast/cmd/holdfast/internal/settings"
	"github.com/holdfast-io/holdfast/messages"
)

// resourceCommand is the common part of the commands about one resource.
type resourceCommand struct {
	op         messages.Operation
	connection connect.Flags
	owner      string
	json       bool

	resource, key string
}

// addTo adds the common flags and the action of the command. build returns the request after all flags have
// their values.
func (l *resourceCommand) addTo(cmd *cobra.Command, build func() question) {
	cli.AddFlags(cmd, cli.SectionOutput, func(f *pflag.FlagSet) {
		f.BoolVar(&l.json, "json", false, "print the complete answer as one line of JSON")
	})
	l.connection.AddTo(cmd)
	cmd.Args = cli.OneResource
	cmd.ValidArgsFunction = cobra.NoFileCompletions
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if err := l.load(cmd.Flags(), args[0]); err != nil {
			return err
		}
		q := build()
		q.op, q.key = l.op, l.key
		if l.connection.Tenant != "" {
			q.needs = append(q.needs, messages.FeatureTenants)
		}
		if err := messages.DefaultLimits().Check(q.message(q.wait)); err != nil {
			return cli.BadRequest(err)
		}
		return l.run(cmd, q)
	}
}

// needToken has a command refuse to run without --token, which selects what is named here.
func needToken(cmd *cobra.Command, token *cli.Token, selects string) {
	run := cmd.RunE
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if *token == 0 {
			tenant, _ := cmd.Flags().GetString("tenant") // empty if the command has no such flag
			return exit.Usagef("--token is required: it selects %s; find it with: holdfast get %s%s", selects, display.Name(args[0]), cli.TenantFlag(tenant))
		}
		return run(cmd, args)
	}
}

// addOwner adds the flag that names the owner.
func (l *resourceCommand) addOwner(f *pflag.FlagSet) {
	f.StringVar(&l.owner, "owner", cli.DefaultOwner(), "`NAME` of the owner; use one per process or task")
	settings.SetEnv(f.Lookup("owner"), settings.Variable("owner"))
	f.Lookup("owner").Usage += " [$" + settings.Variable("owner") + "]"
}

func (l *resourceCommand) load(flags *pflag.FlagSet, resource string) (err error) {
	l.resource, l.key, err = loadResource(flags, &l.connection, resource)
	return err
}

// loadResource loads the settings of a command about one resource, and returns the name and the key of that.
func loadResource(flags *pflag.FlagSet, to *connect.Flags, text string) (resource, key string, err error) {
	s, err := settings.Load(flags)
	if err != nil {
		return "", "", err
	}
	resource = messages.NormalizeResource(text)
	if key, err = messages.EncodeKey(resource); err != nil {
		return "", "", cli.BadRequest(err)
	}
	return resource, key, to.Check(s)
}

func (l *resourceCommand) run(cmd *cobra.Command, q question) error {
	begun := time.Now()
	nc, err := l.connection.Open(cmd.Context(), string(l.op), cmd.ErrOrStderr())
	if err != nil {
		return err
	}
	defer nc.Close()
	q.spent = time.Since(begun)
	asker, err := newAsker(&l.connection, nc)
	if err != nil {
		return err
	}
	defer asker.close()
	reply, err := asker.decide(cmd.Context(), q, l.owner)
	if err != nil {
		return err
	}
	a := answer{op: l.op, resource: l.resource, tenant: l.connection.Tenant, owner: l.owner, wait: q.wait, flags: cmd.Flags(), Reply: reply}
	return a.print(cmd.OutOrStdout(), l.json)
}
