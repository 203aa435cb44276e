package changes

import (
	"context"
	"encoding/json"
	"fmt"
	"io"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/holdfast-io/holdfast/clients/holdfast"
	"github.com/holdfast-io/holdfast/cmd/holdfast/internal/cli"
	"github.com/holdfast-io/holdfast/cmd/holdfast/internal/connect"
	"github.com/holdfast-io/holdfast/cmd/holdfast/internal/display"
	"github.com/holdfast-io/holdfast/cmd/holdfast/internal/exit"
)

// leader is the command that shows who leads an election.
type leader struct {
	connection  connect.Flags
	watch, json bool

	name string
}

func newLeader() *cobra.Command {
	l := &leader{}
	cmd := &cobra.Command{
		Use:   "leader NAME",
		Short: "Show the leader of an election",
		Long: `Shows who leads an election: its value, its name and its token. Without a leader it
exits with 4.

With --watch it shows the present leader and then each change until Ctrl-C: a leader
that has gone, another one, and each value that a leader publishes. It reads the
journals, so no change is missed while the connection is interrupted.`,
		Example: `  holdfast leader scheduler
  holdfast leader scheduler --json | jq -r .value
  holdfast leader scheduler --watch`,
		Args:              cli.OneResource,
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE:              l.run,
	}
	cli.AddFlags(cmd, "Election", func(f *pflag.FlagSet) {
		f.BoolVar(&l.watch, "watch", false, "show each change, until Ctrl-C")
	})
	cli.AddJSON(cmd, &l.json, "print each leader as one line of JSON")
	l.connection.AddTo(cmd)
	l.connection.AddTenant(cmd)
	return cmd
}

func (l *leader) run(cmd *cobra.Command, args []string) error {
	var err error
	if l.name, _, err = l.connection.LoadResource(cmd.Flags(), args[0]); err != nil {
		return err
	}
	show := l.show
	if l.watch {
		show = l.follow
	}
	return l.connection.Client(cmd, "leader", func(c *holdfast.Client) error {
		return show(cmd.Context(), c, cmd.OutOrStdout())
	})
}

// show prints the present leader.
func (l *leader) show(ctx context.Context, c *holdfast.Client, out io.Writer) error {
	found, err := c.Leader(ctx, l.name)
	if err != nil {
		return exit.Errorf(exit.Unavailable, "no answer from %s: %w", l.connection.Where(), causeOf(err))
	}
	if err := l.print(out, found); err != nil || found.Leads() {
		return err
	}
	return &exit.Error{Code: exit.Lost}
}

// follow prints the present leader and each change until ctx ends.
func (l *leader) follow(ctx context.Context, c *holdfast.Client, out io.Writer) error {
	for found, err := range c.Observe(ctx, l.name) {
		if err != nil {
			return watchFailure(&l.connection, err)
		}
		if err := l.print(out, found); err != nil {
			return err
		}
	}
	return nil
}

// shownLeader is a leader in JSON. The token is text, as everywhere in JSON.
type shownLeader struct {
	Name  string `json:"name"`
	Owner string `json:"owner,omitempty"`
	Value string `json:"value,omitempty"`
	Token uint64 `json:"token,omitempty,string"`
}

func (l *leader) print(out io.Writer, found holdfast.Leader) error {
	line := fmt.Sprintf("%s has no leader", display.Name(found.Name))
	switch {
	case l.json:
		text, err := json.Marshal(shownLeader{found.Name, found.Owner, found.Value, uint64(found.Token)})
		if err != nil {
			return err
		}
		line = string(text)
	case found.Leads():
		line = fmt.Sprintf("%s: %s leads %s, token %d", display.Quote(found.Value), display.Quote(found.Owner),
			display.Name(found.Name), found.Token)
	}
	_, err := fmt.Fprintln(out, line)
	return err
}
