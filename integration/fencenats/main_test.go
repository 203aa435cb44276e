package fencenats_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/holdfast-io/holdfast/clients/fence"
	"github.com/holdfast-io/holdfast/clients/fence/fencekv"
	"github.com/holdfast-io/holdfast/clients/fence/fencenats"
	"github.com/holdfast-io/holdfast/integration/stand"
	"github.com/holdfast-io/holdfast/jetstream/embedded"
)

// patience bounds every wait. Nothing is measured by it.
const patience = time.Minute

const bucketName = "orders"

// mustStart starts a server with a guarded bucket.
func mustStart(tb testing.TB) *stand.NATS {
	tb.Helper()
	s := stand.StartNATS(tb, embedded.Config{})
	js, err := jetstream.New(s.Connect(tb))
	if err != nil {
		tb.Fatal(err)
	}
	if _, err := js.CreateKeyValue(tb.Context(), jetstream.KeyValueConfig{Bucket: bucketName}); err != nil {
		tb.Fatal(err)
	}
	return s
}

// mustConnect returns a connection that lasts until the test or the server ends.
func mustConnect(tb testing.TB, s *stand.NATS) *nats.Conn {
	tb.Helper()
	return s.Connect(tb, nats.NoReconnect())
}

func mustOpen(tb testing.TB, nc *nats.Conn, opts ...fencekv.Option) *fencekv.Bucket {
	tb.Helper()
	js, err := jetstream.New(nc)
	if err != nil {
		tb.Fatal(err)
	}
	b, err := fencekv.Open(tb.Context(), js, bucketName, opts...)
	if err != nil {
		tb.Fatal(err)
	}
	return b
}

// client sends claims to a subject.
type client struct {
	*nats.Conn
	subject string
	lost    context.Context // ends with the connection, and requests with it; nil: they do not
}

// Write sends the value with the claim, as any client does.
func (c client) Write(ctx context.Context, claim fence.Claim, value string) error {
	m := nats.NewMsg(c.subject)
	m.Data = []byte(value)
	if err := claim.SetHeader(m.Header); err != nil {
		return err
	}
	if c.lost != nil {
		var cancel context.CancelFunc
		ctx, cancel = context.WithCancel(ctx)
		stop := context.AfterFunc(c.lost, cancel)
		defer stop()
	}
	answer, err := c.RequestMsgWithContext(ctx, m)
	if err != nil {
		return errors.Join(fence.ErrUnknown, err)
	}
	return fencenats.ResponseError(answer)
}

func claim(token fence.Token) fence.Claim {
	return fence.Claim{Resource: "orders.42", Token: token}
}

func wantError(tb testing.TB, err, kind error) {
	tb.Helper()
	if !errors.Is(err, kind) {
		tb.Errorf("error %v, want %v", err, kind)
	}
}
