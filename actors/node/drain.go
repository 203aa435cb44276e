package node

import (
	"context"
	"fmt"

	"github.com/nats-io/nats.go"
)

// drain closes a connection when what it has received is handled and what it has to send is sent.
func drain(ctx context.Context, nc *nats.Conn) error {
	defer nc.Close()
	closed := nc.StatusChanged(nats.CLOSED)
	if err := nc.Drain(); err != nil {
		return nil //nolint:nilerr // it is closed already, or has no server to send anything to
	}
	select {
	case <-closed:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("drain %s: %w", nc.Opts.Name, context.Cause(ctx))
	}
}
