package fencenats_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/holdfast-io/holdfast/clients/fence"
	"github.com/holdfast-io/holdfast/clients/fence/fencekv"
	"github.com/holdfast-io/holdfast/clients/fence/fencenats"
)

// patience bounds every wait. Nothing is measured by it.
const patience = time.Minute

// startServer starts a server that has on disk what it confirms.
func startServer(dir string) (*server.Server, error) {
	s, err := server.NewServer(&server.Options{StoreDir: dir, Host: "127.0.0.1", Port: -1, NoSigs: true, NoLog: true, JetStream: true, SyncAlways: true})
	if err != nil {
		return nil, err
	}
	s.Start()
	if !s.ReadyForConnections(patience) {
		return nil, errors.New("the server does not start")
	}
	return s, nil
}

// world is a server that can be restarted, with a guarded bucket.
type world struct {
	dir    string
	server *server.Server
}

const bucketName = "orders"

func mustStart(tb testing.TB) *world {
	tb.Helper()
	w := &world{dir: tb.TempDir()}
	w.start(tb)
	tb.Cleanup(w.stop)
	js, err := jetstream.New(w.mustConnect(tb))
	if err != nil {
		tb.Fatal(err)
	}
	if _, err := js.CreateKeyValue(tb.Context(), jetstream.KeyValueConfig{Bucket: bucketName}); err != nil {
		tb.Fatal(err)
	}
	return w
}

func (w *world) start(tb testing.TB) {
	tb.Helper()
	var err error
	if w.server, err = startServer(w.dir); err != nil {
		tb.Fatal(err)
	}
}

func (w *world) stop() {
	w.server.Shutdown()
	w.server.WaitForShutdown()
}

// mustConnect returns a connection that lasts until the test or the server ends.
func (w *world) mustConnect(tb testing.TB) *nats.Conn {
	tb.Helper()
	nc, err := nats.Connect("", nats.InProcessServer(w.server), nats.NoReconnect())
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(nc.Close)
	return nc
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
