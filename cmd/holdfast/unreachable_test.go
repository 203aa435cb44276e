package main_test

import (
	"net"
	"testing"
)

// A server that restarts is missing for a while: the commands try for as long as --timeout says.
func TestCommandsWaitForAServer(t *testing.T) {
	for name, args := range map[string][]string{
		"Acquire": {"acquire", "a", "--owner", "me"},
		"Lock":    {"lock", "a", "--", "echo", "done"},
		"List":    {"ls"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			address, tried := hangUp(t)
			command := start(t, append([]string{args[0], "--server", "nats://" + address, "--timeout", "1m"},
				args[1:]...)...)
			select {
			case <-tried:
			case <-command.done:
				t.Fatalf("it has not tried: %s", command.log)
			}
			serveWith(t, nil, "--listen", address)
			command.wantExit(t, 0)
		})
	}
}

// hangUp returns an address where the first connection is ended at once. From then on, when tried is closed,
// every further one is refused.
func hangUp(t *testing.T) (address string, tried <-chan struct{}) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	done := make(chan struct{})
	go func() {
		defer close(done)
		if conn, err := l.Accept(); err == nil {
			_ = conn.Close()
		}
		_ = l.Close()
	}()
	return l.Addr().String(), done
}
