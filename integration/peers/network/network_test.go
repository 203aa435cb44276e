//go:build linux

package network_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"testing"
	"time"

	"github.com/holdfast-io/holdfast/integration/peers/network"
)

func TestMain(m *testing.M) {
	asked, err := network.SwitchIfAsked()
	entered := os.Geteuid() != 0 // then all tests are skipped
	if !asked && !entered {
		entered, err = network.Enter()
	}
	if err != nil {
		_, _ = fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	if !asked && entered {
		os.Exit(m.Run())
	}
}

// delay is longer than what a busy machine needs, so that a network without it is noticed. A frame may leave a little
// early, so a round trip takes at least shortest.
const delay, shortest = 100 * time.Millisecond, 99 * time.Millisecond

func open(t *testing.T, nodes int) *network.Network {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("network namespaces need root")
	}
	n, err := network.Open(nodes, delay)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// echo echoes what one connection to the address on a node sends, until it ends.
func echo(t *testing.T, n *network.Network, node int, address string) {
	t.Helper()
	err := n.Inside(node, func() error {
		l, err := net.Listen("tcp", address)
		if err != nil {
			return err
		}
		go func() {
			defer func() { _ = l.Close() }()
			if conn, err := l.Accept(); err == nil {
				_, _ = io.Copy(conn, conn)
				_ = conn.Close()
			}
		}()
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// roundTrip sends data from the host that dials, compares what comes back, and returns how long it took.
func roundTrip(address string, data []byte) (took time.Duration, err error) {
	conn, err := net.Dial("tcp", address)
	if err != nil {
		return 0, err
	}
	defer func() { _ = conn.Close() }()
	begun, sent := time.Now(), make(chan error, 1)
	go func() {
		_, err := conn.Write(data)
		sent <- err
	}()
	back := make([]byte, len(data))
	if _, err := io.ReadFull(conn, back); err != nil {
		return 0, err
	}
	took = time.Since(begun)
	if !bytes.Equal(back, data) {
		return 0, errors.New("what came back differs")
	}
	return took, <-sent
}

func TestDelay(t *testing.T) {
	n := open(t, 2)
	addresses := n.Addresses(4) // two on each node, in turns
	long := bytes.Repeat([]byte("0123456789"), 300_000)
	for _, c := range []struct {
		name string
		to   int
		from func(func() error) error
		data []byte
	}{
		{"from the clients to a node", 0, func(f func() error) error { return f() }, []byte("x")},
		{"much data from the clients to a node", 1, func(f func() error) error { return f() }, long},
		{"from a node to another", 2, func(f func() error) error { return n.Inside(1, f) }, []byte("x")},
	} {
		t.Run(c.name, func(t *testing.T) {
			echo(t, n, c.to, addresses[c.to])
			if err := c.from(func() error {
				took, err := roundTrip(addresses[c.to], c.data)
				if took < shortest {
					t.Errorf("the round trip took %v, want at least %v", took, shortest)
				}
				return err
			}); err != nil {
				t.Error(err)
			}
		})
	}
	e, err := n.Close()
	if err != nil {
		t.Fatal(err)
	}
	if e.Count == 0 || e.P50 < shortest || e.Lost > 0 {
		t.Errorf("%+v: want echoes of at least %v, and none lost", e, shortest)
	}
}

// What a node sends to its own host does not leave it.
func TestWithinAHost(t *testing.T) {
	n := open(t, 1)
	address := n.Addresses(1)[0]
	echo(t, n, 0, address)
	if err := n.Inside(0, func() error {
		_, err := roundTrip(address, []byte("x"))
		return err
	}); err != nil {
		t.Error(err)
	}
	if _, err := n.Close(); err != nil {
		t.Error(err)
	}
}
