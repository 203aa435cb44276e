package stand

import (
	"context"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/holdfast-io/holdfast/clients/holdfast"
)

// Dial returns a connection over TCP that comes back quickly and for ever, and ends with the test. The server need not
// run yet.
func Dial(tb testing.TB, url string, opts ...nats.Option) *nats.Conn {
	tb.Helper()
	nc, err := nats.Connect(url, append([]nats.Option{
		nats.RetryOnFailedConnect(true), nats.MaxReconnects(-1), nats.ReconnectWait(20 * time.Millisecond), nats.ReconnectJitter(0, 0),
		nats.ErrorHandler(func(*nats.Conn, *nats.Subscription, error) {}), // the tests look themselves
	}, opts...)...)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(nc.Close)
	return nc
}

// Client returns a client on the connection. It ends with the test.
func Client(tb testing.TB, nc *nats.Conn, opts ...holdfast.Option) *holdfast.Client {
	tb.Helper()
	c, err := holdfast.New(nc, opts...)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(tb.Context()), patience)
		defer cancel()
		_ = c.Close(ctx)
	})
	return c
}
