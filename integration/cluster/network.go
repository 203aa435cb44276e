//go:build linux

package cluster

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/holdfast-io/holdfast/integration/tap"
)

// headerBytes is the size of a frame's header.
const headerBytes = 14

// outside is the port of this process's own namespace: of the clients.
const outside = "clients"

// network is an Ethernet switch in this process, with one port for each node and one for the clients. Every
// frame between them goes through it, so it can lose, delay and duplicate what it likes, and knows how often
// it did.
type network struct {
	subnet netip.Prefix
	seed   uint64

	mu      sync.Mutex // for changes of the two
	ports   atomic.Pointer[[]*port]
	rules   atomic.Pointer[[]*rule]
	readers sync.WaitGroup
}

// port is one end of a cable.
type port struct {
	name string
	*tap.Device
	late *lateness
	dice *rand.Rand // of the reader
}

// newNetwork returns a network with the port of this process's namespace. The number of the device, which
// no other process has, chooses the addresses.
func newNetwork(seed uint64) (*network, error) {
	device, err := tap.Open("holdfast%d", 0)
	if err != nil {
		return nil, err
	}
	var number int
	if _, err := fmt.Sscanf(device.Name, "holdfast%d", &number); err != nil || number > 255 {
		device.Close()
		return nil, fmt.Errorf("device %s: at most 256 networks at once", device.Name)
	}
	n := &network{subnet: netip.PrefixFrom(netip.AddrFrom4([4]byte{10, 231, byte(number), 1}), 24), seed: seed}
	n.ports.Store(&[]*port{})
	n.rules.Store(&[]*rule{})
	if err := device.Start(n.subnet); err != nil {
		device.Close()
		return nil, err
	}
	n.plug(outside, device)
	return n, nil
}

// join gives a namespace a port, its address ending in number.
func (n *network) join(name string, inside *namespace, number byte) (netip.Addr, error) {
	subnet := n.subnet.Addr().As4()
	address := netip.AddrFrom4([4]byte{subnet[0], subnet[1], subnet[2], number})
	var device *tap.Device
	err := inside.inside(func() (err error) {
		if err := tap.Configure("lo", netip.MustParsePrefix("127.0.0.1/8")); err != nil {
			return err
		}
		if device, err = tap.Open("eth0", 0); err != nil {
			return err
		}
		return device.Start(netip.PrefixFrom(address, n.subnet.Bits()))
	})
	if err != nil {
		if device != nil {
			device.Close()
		}
		return netip.Addr{}, fmt.Errorf("network of %s: %w", name, err)
	}
	n.plug(name, device)
	return address, nil
}

func (n *network) plug(name string, device *tap.Device) {
	n.mu.Lock()
	defer n.mu.Unlock()
	ports := *n.ports.Load()
	p := &port{name: name, Device: device, late: newLateness(device),
		dice: rand.New(rand.NewPCG(n.seed, uint64(len(ports))))}
	ports = append(slices.Clip(ports), p)
	n.ports.Store(&ports)
	n.readers.Go(func() { n.read(p) })
}

// read forwards what comes in at a port until it is closed.
func (n *network) read(from *port) {
	frame := make([]byte, headerBytes+tap.FrameBytes)
	for {
		size, err := from.Read(frame)
		if err != nil {
			if errors.Is(err, os.ErrClosed) || errors.Is(err, os.ErrDeadlineExceeded) {
				return
			}
			continue // the device is down
		}
		if size >= headerBytes {
			n.forward(from, frame[:size])
		}
	}
}

// The kinds of frames that are forwarded. The rest is the kernel's own small talk, and no evidence of anything.
const (
	ipv4 = 0x0800
	arp  = 0x0806
)

func kindOf(frame []byte) uint16 { return binary.BigEndian.Uint16(frame[12:]) }

// forward lets nothing happen to ARP: what a node has forgotten of its neighbours would outlast the fault.
func (n *network) forward(from *port, frame []byte) {
	var rules []*rule
	switch kindOf(frame) {
	case ipv4:
		rules = *n.rules.Load()
	case arp:
	default:
		return
	}
	toAll := frame[0]&1 != 0
	for _, to := range *n.ports.Load() {
		if to != from && (toAll || [6]byte(frame[:6]) == to.MAC) {
			n.deliver(from, to, frame, rules)
		}
	}
}

func (n *network) deliver(from, to *port, frame []byte, rules []*rule) {
	var delay time.Duration
	copies := 1
	for _, r := range rules {
		if !r.covers(from.name, to.name) {
			continue
		}
		switch {
		case roll(from.dice, r.lose):
			r.lost.Add(1)
			return
		case roll(from.dice, r.reset) && makeReset(&frame):
			r.resets.Add(1)
		case roll(from.dice, r.duplicate):
			r.duplicated.Add(1)
			copies++
		}
		if r.delay > 0 {
			r.delayed.Add(1)
			delay += r.delay + time.Duration((2*from.dice.Float64()-1)*float64(r.jitter))
		}
	}
	for range copies {
		if delay > 0 {
			to.late.put(delay, frame)
			continue
		}
		_, _ = to.Write(frame) // a device that is down loses it, as a cable would
	}
}

func roll(dice *rand.Rand, chance float64) bool { return chance > 0 && dice.Float64() < chance }

// rule is what happens to the frames between some ports, and how often it has.
type rule struct {
	covers                            func(from, to string) bool
	lose, duplicate, reset            float64
	delay, jitter                     time.Duration
	lost, duplicated, resets, delayed atomic.Int64
}

func (n *network) add(r *rule) {
	n.mu.Lock()
	defer n.mu.Unlock()
	rules := append(slices.Clip(*n.rules.Load()), r)
	n.rules.Store(&rules)
}

func (n *network) remove(r *rule) {
	n.mu.Lock()
	defer n.mu.Unlock()
	rules := slices.DeleteFunc(slices.Clone(*n.rules.Load()), func(other *rule) bool { return other == r })
	n.rules.Store(&rules)
}

func (n *network) close() {
	for _, p := range *n.ports.Load() {
		p.Close()
		p.late.close()
	}
	n.readers.Wait()
}
