//go:build linux

package network

import (
	"encoding/json"
	"fmt"
	"io"
	"net/netip"
	"os"
	"os/exec"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/holdfast-io/holdfast/integration/peers/process"
	"github.com/holdfast-io/holdfast/integration/tap"
)

// subnet is that of all hosts: the clients have its first address, the nodes those from firstNode on.
const (
	subnet    = "10.231.0.%d/24"
	clients   = 1
	firstNode = 11
	// firstPort is that of the first server on the network; no other process has ports there.
	firstPort = 10_000
)

// Network is the hosts of some nodes, and that of the clients: the namespace of this process.
type Network struct {
	hosts  []*os.File // the namespaces of the nodes
	ports  int        // that are taken
	cable  *exec.Cmd
	end    io.Closer
	output strings.Builder
}

// Open makes a network of so many nodes. delay is the round trip between any two hosts. The process must have
// entered its namespace with [Enter].
func Open(nodes int, delay time.Duration) (*Network, error) {
	n := &Network{}
	var files []*os.File
	defer func() { closeAll(files) }() // the switch has them
	device, err := plug(clients)
	if err != nil {
		return nil, err
	}
	files = append(files, device)
	for node := range nodes {
		err := onThread(func() (err error) {
			if err := unix.Unshare(unix.CLONE_NEWNET); err != nil {
				return fmt.Errorf("a network namespace: %w", err)
			}
			host, err := os.Open("/proc/thread-self/ns/net")
			if err != nil {
				return err
			}
			n.hosts = append(n.hosts, host)
			if err := prepare(netip.MustParsePrefix("127.0.0.1/8"), "lo"); err != nil {
				return err
			}
			device, err := plug(firstNode + node)
			files = append(files, device)
			return err
		})
		if err != nil {
			closeAll(n.hosts)
			return nil, err
		}
	}
	echo, err := unix.Socket(unix.AF_INET, unix.SOCK_RAW|unix.SOCK_CLOEXEC, unix.IPPROTO_ICMP)
	if err != nil {
		closeAll(n.hosts)
		return nil, err
	}
	return n, n.start(append([]*os.File{os.NewFile(uintptr(echo), "icmp")}, files...), delay)
}

// plug makes the device of a host in the namespace of the thread that it runs on. Long packets of TCP pass it in one
// piece and without checksums, as between a kernel and its hardware.
func plug(host int) (*os.File, error) {
	device, err := tap.Open("eth0", unix.IFF_VNET_HDR)
	if err != nil {
		return nil, err
	}
	if err := unix.IoctlSetInt(int(device.Fd()), unix.TUNSETOFFLOAD, unix.TUN_F_CSUM|unix.TUN_F_TSO4); err != nil {
		return device.File, fmt.Errorf("offload: %w", err)
	}
	return device.File, device.Start(netip.MustParsePrefix(fmt.Sprintf(subnet, host)))
}

// start starts the switch.
func (n *Network) start(files []*os.File, delay time.Duration) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	n.cable = exec.Command(self)
	n.cable.Env = []string{fmt.Sprintf("%s=%d %d", switchVariable, delay/2, len(files)), "GOGC=off"}
	n.cable.ExtraFiles, n.cable.Stdout, n.cable.Stderr = files, &n.output, os.Stderr
	if n.end, err = n.cable.StdinPipe(); err != nil {
		return err
	}
	return n.cable.Start()
}

// Addresses returns so many free addresses, on the hosts of the nodes in turns.
func (n *Network) Addresses(count int) (addresses []string) {
	for i := range count {
		host, _, _ := strings.Cut(fmt.Sprintf(subnet, firstNode+i%len(n.hosts)), "/")
		addresses = append(addresses, fmt.Sprintf("%s:%d", host, firstPort+n.ports))
		n.ports++
	}
	return addresses
}

// Inside calls f on a thread of the host of a node, counted from 0 and in turns. A process that it starts is on that
// host.
func (n *Network) Inside(node int, f func() error) error {
	return inside(int(n.hosts[node%len(n.hosts)].Fd()), f)
}

// CPU returns the processor time that the switch has used; 0 if n is nil, or it is not known.
func (n *Network) CPU() time.Duration {
	if n == nil {
		return 0
	}
	used, _ := process.CPU(n.cable.Process.Pid)
	return used
}

// Close ends the network. The servers on its hosts must have ended.
func (n *Network) Close() (e Echoes, err error) {
	closeAll(n.hosts)
	_ = n.end.Close() // the switch ends with it
	if err := n.cable.Wait(); err != nil {
		return e, fmt.Errorf("the switch: %w", err)
	}
	return e, json.Unmarshal([]byte(n.output.String()), &e)
}

func closeAll(files []*os.File) {
	for _, f := range files {
		if f != nil {
			_ = f.Close()
		}
	}
}
