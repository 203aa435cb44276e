package changes

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/holdfast-io/holdfast/clients/holdfast"
	"github.com/holdfast-io/holdfast/cmd/holdfast/internal/cli"
	"github.com/holdfast-io/holdfast/cmd/holdfast/internal/connect"
	"github.com/holdfast-io/holdfast/cmd/holdfast/internal/display"
)

// history is the command that shows the past changes of one lock.
type history struct {
	connection connect.Flags
	json       bool
}

func newHistory() *cobra.Command {
	h := &history{}
	cmd := &cobra.Command{
		Use:   "history RESOURCE",
		Short: "Show the past changes of a lock",
		Long: `Shows the changes of the lock on a resource that the journal retains, oldest first.
If older changes of the shard have been compacted away, the first line says where
the history begins; serve --history sets how much is retained. Ephemeral leases are
not in the journal.`,
		Example: `  holdfast history orders.42
  holdfast history orders.42 --json | jq -r .event.kind`,
		Args:              cli.OneResource,
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE:              h.run,
	}
	cli.AddJSON(cmd, &h.json, "print each change as one line of JSON, with the position after it")
	h.connection.AddTo(cmd)
	h.connection.AddTenants(cmd)
	return cmd
}

func (h *history) run(cmd *cobra.Command, args []string) error {
	resource, key, err := h.connection.LoadResource(cmd.Flags(), args[0])
	if err != nil {
		return err
	}
	return h.connection.Client(cmd, "history", func(c *holdfast.Client) error {
		return h.show(cmd, c, resource, key)
	})
}

func (h *history) show(cmd *cobra.Command, c *holdfast.Client, resource, key string) error {
	s := &eventWriter{out: cmd.OutOrStdout(), errs: cmd.ErrOrStderr(), json: h.json}
	options := []holdfast.WatchOption{holdfast.UntilNow(), holdfast.OfTenant(h.connection.Tenant)}
	err := s.show(cmd.Context(), c, key, append(options, holdfast.Since(time.Time{}))...)
	for gap := (*holdfast.CompactedError)(nil); errors.As(err, &gap); {
		err = s.goOn(cmd.Context(), c, key, gap, options...) // compaction may proceed meanwhile
	}
	if err == nil && !s.begun && !h.json && cmd.Context().Err() == nil {
		advice := ""
		if strings.ContainsAny(resource, "*>") {
			advice = "; history shows one lock and takes no pattern: holdfast watch --since shows the past of several"
		}
		_, err = fmt.Fprintf(s.out, "the journal has no changes of %s%s%s\n", display.Name(resource),
			h.connection.OfTenant(), advice)
	}
	return watchFailure(&h.connection, err)
}
