package main

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"strings"
	"testing"

	"github.com/holdfast-io/holdfast/jetstream"
)

// A NATS that goes away between two connections of a starting node is waited for; one that was never there is
// not.
func TestConnectWaitsForNATSThatWasThere(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := l.Addr().String()
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	said := make(chan string, 1)
	r := &server{settings: &serve{nats: "nats://" + address}, log: slog.New(slog.NewTextHandler(writer(func(line string) {
		if strings.Contains(line, "waits for NATS") {
			said <- line
		}
	}), nil))}
	if _, err := r.dialOnce(t.Context(), "first"); !errors.Is(err, jetstream.ErrConnect) {
		t.Errorf("the first connection: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	done := make(chan error, 1)
	go func() {
		nc, err := r.dialAgain(ctx, "second")
		if err == nil {
			nc.Close()
		}
		done <- err
	}()
	<-said
	s, err := jetstream.StartServer(jetstream.ServerConfig{
		Name: "nats", Listen: address, DataDir: t.TempDir(), Log: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Shutdown)
	if err := <-done; err != nil {
		t.Errorf("the second connection: %v", err)
	}
}

type writer func(string)

func (w writer) Write(p []byte) (int, error) {
	w(string(p))
	return len(p), nil
}
