package stand

import (
	"context"
	"errors"
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
		nats.RetryOnFailedConnect(true), nats.MaxReconnects(-1), nats.ReconnectWait(20 * time.Millisecond),
		nats.ReconnectJitter(0, 0),
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

// Disconnect closes a connection and returns when its server has noticed: what is sent to the connection has no
// responders from then on. observer is a connection of the same account.
func Disconnect(tb testing.TB, nc, observer *nats.Conn) {
	tb.Helper()
	inbox := nats.NewInbox()
	if _, err := nc.SubscribeSync(inbox); err != nil {
		tb.Fatal(err)
	}
	if err := nc.Flush(); err != nil {
		tb.Fatal(err)
	}
	nc.Close()
	WaitNoResponders(tb, observer, inbox)
}

// WaitNoResponders returns when the NATS server of a connection knows no subscriber of a subject. Until then a message
// may go to a process that has ended: its server notices the end of a connection later than the test.
func WaitNoResponders(tb testing.TB, nc *nats.Conn, subject string) {
	tb.Helper()
	Eventually(tb, subject+" has no subscriber", func() bool {
		_, err := nc.Request(subject, nil, 100*time.Millisecond)
		return errors.Is(err, nats.ErrNoResponders)
	})
}
