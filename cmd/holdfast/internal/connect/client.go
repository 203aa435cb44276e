package connect

import (
	"context"
	"errors"
	"time"

	"github.com/spf13/cobra"

	"github.com/holdfast-io/holdfast/clients/holdfast"
)

// Client connects, lets use have a client, and closes it, which holds nothing.
func (c *Flags) Client(cmd *cobra.Command, name string, use func(*holdfast.Client) error) error {
	nc, err := c.Open(cmd.Context(), name, cmd.ErrOrStderr())
	if err != nil {
		return err
	}
	defer nc.Close()
	client, err := holdfast.New(nc, holdfast.Prefix(c.Prefix), holdfast.Timeout(c.Timeout.Duration))
	if err != nil {
		return err
	}
	err = use(client)
	ctx, cancel := context.WithTimeout(context.WithoutCancel(cmd.Context()), c.Parting())
	defer cancel()
	return errors.Join(err, client.Close(ctx))
}

// partingTime is how long a command that is over may be held up for what the service would find out by
// itself: a lease runs out, and a grant that reaches nobody is taken back. It is enough for the pause in
// which another node takes over from one that has died.
const partingTime = 3 * time.Second

func (c *Flags) Parting() time.Duration { return min(c.Timeout.Duration, partingTime) }
