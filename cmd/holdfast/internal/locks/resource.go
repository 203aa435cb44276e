package locks

import (
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"google.golang.org/protobuf/proto"

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
	token      cli.Token
	json       bool
	// check refuses flags that contradict one another, before they are loaded; nil: there are none.
	check func(resource string) error

	resource, key string
}

// addTo adds the common flags and the action of the command. build returns the request after all flags have
// their values.
func (l *resourceCommand) addTo(cmd *cobra.Command, build func() question) {
	cli.AddJSON(cmd, &l.json, "print the complete answer as one line of JSON")
	l.connection.AddTo(cmd)
	cmd.Args = cli.OneResource
	cmd.ValidArgsFunction = cobra.NoFileCompletions
	cmd.RunE = func(cmd *cobra.Command, args []string) (err error) {
		if l.check != nil {
			if err := l.check(args[0]); err != nil {
				return err
			}
		}
		if l.resource, l.key, err = l.connection.LoadResource(cmd.Flags(), args[0]); err != nil {
			return err
		}
		q := build()
		q.op, q.key = l.op, l.key
		if err := messages.DefaultLimits().Check(q.message(q.wait)); err != nil {
			return cli.BadRequest(err)
		}
		return l.run(cmd, q)
	}
}

// send adds the common flags, and a request with the token of a lease.
func (l *resourceCommand) send(cmd *cobra.Command, message func() proto.Message) {
	l.addTo(cmd, func() question {
		return question{token: &l.token, message: func(time.Duration) proto.Message { return message() }}
	})
}

// needToken has the command refuse to run without --token, which selects what is named here.
func (l *resourceCommand) needToken(selects string) {
	l.check = func(resource string) error {
		if l.token > 0 {
			return nil
		}
		return exit.Usagef("--token is required: it selects %s; find it with: holdfast get %s%s",
			selects, display.Name(resource), cli.TenantFlag(l.connection.Tenant))
	}
}

// addOwner adds the flag that names the owner.
func (l *resourceCommand) addOwner(f *pflag.FlagSet) {
	f.StringVar(&l.owner, "owner", cli.DefaultOwner(), "`NAME` of the owner; use one per process or task")
	settings.SetEnv(f.Lookup("owner"), settings.Variable("owner"))
	f.Lookup("owner").Usage += " [$" + settings.Variable("owner") + "]"
}

func (l *resourceCommand) run(cmd *cobra.Command, q question) error {
	begun := time.Now()
	return withAsker(cmd, &l.connection, string(l.op), func(a *asker) error {
		q.spent = time.Since(begun)
		reply, err := a.decide(cmd.Context(), q, l.owner)
		if err != nil {
			return err
		}
		shown := answer{
			op: l.op, resource: l.resource, tenant: l.connection.Tenant, owner: l.owner, wait: q.wait,
			flags: cmd.Flags(), Reply: reply,
		}
		return shown.print(cmd.OutOrStdout(), l.json)
	})
}
