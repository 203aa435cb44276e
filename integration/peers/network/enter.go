//go:build linux

package network

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/holdfast-io/holdfast/integration/tap"
)

// outsideVariable has the number of the descriptor of the namespace that the benchmark was started in.
const outsideVariable = "HOLDFAST_PEERS_OUTSIDE"

// Enter runs this program again in a network namespace of its own, which becomes the host of the clients, and returns
// how it ended. entered: this process is that program, and has to go on.
func Enter() (entered bool, err error) {
	if os.Getenv(outsideVariable) != "" {
		return true, prepare(netip.MustParsePrefix("127.0.0.1/8"), "lo")
	}
	if os.Geteuid() != 0 {
		return false, errors.New("a delay takes network namespaces, which only root may make; run it as root, or without -delay")
	}
	self, err := os.Executable()
	if err != nil {
		return false, err
	}
	outside, err := os.Open("/proc/self/ns/net")
	if err != nil {
		return false, err
	}
	defer func() { _ = outside.Close() }() // read only
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	cmd := exec.CommandContext(ctx, self, os.Args[1:]...)
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.Stdin, cmd.Stdout, cmd.Stderr, cmd.ExtraFiles = os.Stdin, os.Stdout, os.Stderr, []*os.File{outside}
	cmd.Env = append(os.Environ(), outsideVariable+"="+strconv.Itoa(firstExtra))
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNET}
	return false, cmd.Run()
}

// firstExtra is the descriptor of the first of [exec.Cmd.ExtraFiles].
const firstExtra = 3

// Outside calls f in the namespace that the benchmark was started in, where programs are built.
func Outside(f func() error) error {
	text := os.Getenv(outsideVariable)
	if text == "" {
		return f()
	}
	outside, err := strconv.Atoi(text)
	if err != nil {
		return fmt.Errorf("%s: %w", outsideVariable, err)
	}
	return inside(outside, f)
}

// inside calls f on a thread in a namespace. Sockets, devices and processes that are made on it belong there.
func inside(namespace int, f func() error) error {
	return onThread(func() error {
		if err := unix.Setns(namespace, unix.CLONE_NEWNET); err != nil {
			return fmt.Errorf("enter a network namespace: %w", err)
		}
		return f()
	})
}

// onThread calls f on a thread that ends afterwards, since it is never unlocked.
func onThread(f func() error) error {
	result := make(chan error)
	go func() {
		runtime.LockOSThread()
		result <- f()
	}()
	return <-result
}

// congestion is the algorithm of TCP in all namespaces, whatever this machine has chosen: every kernel allows it there.
// Where nothing is lost, it delays nothing.
const congestion = "reno"

// prepare sets up the namespace of the thread that it runs on, with a device.
func prepare(at netip.Prefix, device string) error {
	if err := os.WriteFile("/proc/sys/net/ipv4/tcp_congestion_control", []byte(congestion), 0o644); err != nil {
		return err
	}
	return tap.Configure(device, at)
}
