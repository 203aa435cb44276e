package peersfile

import (
	"bytes"
	"net/url"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"

	"github.com/holdfast-io/holdfast/jetstream/internal/jsapi"
)

// TestFormat compares with a file that nats-server writes: that of a member which waits for a second one.
func TestFormat(t *testing.T) {
	store := t.TempDir()
	s, err := server.NewServer(&server.Options{
		ServerName: "n1", Host: "127.0.0.1", Port: -1, JetStream: true, StoreDir: store, NoLog: true, NoSigs: true,
		Cluster: server.ClusterOpts{Name: "c", Host: "127.0.0.1", Port: -1},
		Routes:  []*url.URL{{Scheme: "nats", Host: "127.0.0.1:1"}}, // nobody listens there
	})
	if err != nil {
		t.Fatal(err)
	}
	s.Start()
	defer s.WaitForShutdown()
	defer s.Shutdown()
	if !s.ReadyForConnections(time.Minute) {
		t.Fatal("nats-server does not accept connections")
	}
	written, err := os.ReadFile(filepath.Join(Dir(store), name))
	if err != nil {
		t.Fatalf("nats-server %s keeps its members elsewhere: %v", server.VERSION, err)
	}
	if want := encode(2, jsapi.PeerID("n1")); !bytes.Equal(written, want) {
		t.Errorf("nats-server %s writes\n%x, this package would write\n%x", server.VERSION, written, want)
	}
}

func TestCreate(t *testing.T) {
	store := t.TempDir()
	for _, c := range []struct {
		name   string
		create func() error
		ofOne  bool
	}{
		{"none", func() error { return nil }, false},
		{"three", func() error { return Create(store, 3) }, false},
		{"one", func() error { return CreateOfOne(store, "n1") }, true},
		{"other", func() error { return CreateOfOne(store, "n2") }, false},
	} {
		if err := c.create(); err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		if got, err := IsOfOne(store, "n1"); err != nil || got != c.ofOne {
			t.Errorf("%s: n1 is the only member: %t, want %t; %v", c.name, got, c.ofOne, err)
		}
	}
}
