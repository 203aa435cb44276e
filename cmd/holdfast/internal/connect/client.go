package connect

import (
	"context"
	"errors"
	"time"

	"github.com/spf13/cobra"

	"github.com/holdfast-io/holdfast/clients/holdfast"
)

// Client runs use with a client, which it closes. use must release its locks.
func (c *Flags) Client(cmd *cobra.Command, name string, use func(*holdfast.Client) error) error {
	nc, err := c.Open(cmd.Context(), name, cmd.ErrOrStderr())
	if err != nil {
		return err
	}
	defer nc.Close()
	client, err := holdfast.New(nc, c.Options()...)
	if err != nil {
		return err
	}
	return errors.Join(use(client), c.Close(cmd.Context(), client))
}

// Close closes a client, also after the end of ctx. It does not wait for longer than [Flags.Parting].
func (c *Flags) Close(ctx context.Context, client *holdfast.Client) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), c.Parting())
	defer cancel()
	return client.Close(ctx)
}

// partingTime bounds the cleanup of a command. The service cleans up by itself later: a lease expires, and an
// undeliverable grant is revoked. The bound covers the failover of a node.
const partingTime = 3 * time.Second

// Parting returns the bound of the cleanup.
func (c *Flags) Parting() time.Duration { return min(c.Timeout.Duration, partingTime) }
