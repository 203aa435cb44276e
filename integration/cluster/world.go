//go:build linux

package cluster

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os/exec"

	"golang.org/x/sys/unix"
)

// world is what nodes live in, and so what can go wrong there.
type world interface {
	// settle gives the node number i its thread, address and disk.
	settle(ctx context.Context, n *node, i int) error
	// can returns an error that says why something cannot go wrong here.
	can(need) error
	close()
}

// need is what a kind of fault takes.
type need int

const (
	processes need = iota // always there
	networks
	disks
)

// newWorld returns one with networks and disks, or one on loopback without.
func newWorld(cfg Config) (world, error) {
	if cfg.Loopback {
		return newLoopback()
	}
	for program, pkg := range map[string]string{"mkfs.ext4": "e2fsprogs", "mount": "mount", "strace": "strace"} {
		if _, err := exec.LookPath(program); err != nil {
			return nil, fmt.Errorf("%w; install the package %s, or choose Loopback", err, pkg)
		}
	}
	n, err := newNetwork(cfg.Seed)
	if err != nil {
		return nil, fmt.Errorf("%w; choose Loopback where there are no namespaces", err)
	}
	return &isolated{n}, nil
}

// isolated gives each node a namespace and a disk of its own. It needs root.
type isolated struct {
	*network
}

// diskBytes is the size of a node's disk.
const diskBytes = 256 << 20

func (w *isolated) settle(ctx context.Context, n *node, i int) (err error) {
	if n.thread, err = newNamespace(); err != nil {
		return err
	}
	addr, err := w.join(n.name, n.thread, byte(10+i))
	if err != nil {
		return err
	}
	n.host = addr.String()
	n.disk, err = newDisk(ctx, n.thread, n.dir, diskBytes)
	return err
}

func (*isolated) can(need) error { return nil }

// loopback gives each node an address of 127.0.0.0/8, and can only hurt processes.
type loopback struct {
	subnet [4]byte
	claim  net.Listener // keeps other clusters away from the subnet
}

func newLoopback() (*loopback, error) {
	for range 1000 {
		subnet := [4]byte{127, byte(1 + rand.IntN(254)), byte(rand.IntN(256)), 0}
		claim, err := net.Listen("tcp4", net.JoinHostPort(net.IP(subnet[:]).String(), "4222"))
		switch {
		case err == nil:
			return &loopback{subnet, claim}, nil
		case !errors.Is(err, unix.EADDRINUSE):
			return nil, err
		}
	}
	return nil, errors.New("every loopback subnet is taken")
}

func (w *loopback) settle(_ context.Context, n *node, i int) (err error) {
	n.host = net.IPv4(w.subnet[0], w.subnet[1], w.subnet[2], byte(10+i)).String()
	n.thread, err = newThread()
	return err
}

func (*loopback) can(n need) error {
	if n == processes {
		return nil
	}
	return errors.New("networks and disks can only be broken as root and without Loopback")
}

func (w *loopback) close() { _ = w.claim.Close() }
