package natsconn_test

import (
	"errors"
	"net"
	"testing"

	"github.com/nats-io/nats.go"

	"github.com/holdfast-io/holdfast/jetstream/internal/jstest"
	"github.com/holdfast-io/holdfast/jetstream/natsconn"
)

// counting is an application's way to a server.
type counting struct{ dialed, inProcess int }

func (c *counting) Dial(network, address string) (net.Conn, error) {
	c.dialed++
	return net.Dial(network, address)
}

var errNone = errors.New("there is no server")

func (c *counting) InProcessConn() (net.Conn, error) {
	c.inProcess++
	return nil, errNone
}

// A connection like that of an application goes the application's way, and leaves its callbacks alone.
func TestOpen(t *testing.T) {
	t.Parallel()
	s := jstest.MustStartFile(t, jstest.GoodConfig)
	way := &counting{}
	closed := make(chan struct{}, 2)
	theirs, err := nats.Connect(s.ClientURL(), nats.SetCustomDialer(way), nats.NoReconnect(),
		nats.ClosedHandler(func(*nats.Conn) { closed <- struct{}{} }))
	if err != nil {
		t.Fatal(err)
	}
	ours, err := natsconn.Open(theirs.Opts, "ours", jstest.Quiet())
	if err != nil {
		t.Fatal(err)
	}
	if o := ours.Opts; way.dialed != 2 || o.Name != "ours" || !o.AllowReconnect || o.MaxReconnect != -1 || o.ReconnectBufSize != -1 {
		t.Errorf("dialed %d times, options %+v", way.dialed, o)
	}
	ours.Close()
	if theirs.IsClosed() {
		t.Error("the application's connection is closed")
	}
	theirs.Close()
	<-closed
	if len(closed) > 0 {
		t.Error("the end of the node's connection was reported to the application")
	}

	_, err = natsconn.Open(nats.Options{InProcessServer: way}, "ours", jstest.Quiet())
	jstest.WantError(t, err, natsconn.ErrConnect)
	if !errors.Is(err, errNone) || way.inProcess != 1 {
		t.Errorf("got %v after %d connections in the process", err, way.inProcess)
	}
}
