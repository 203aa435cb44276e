//go:build linux

package cluster

import (
	"fmt"
	"net"
	"net/netip"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// frameBytes is what a device sends at once: long frames, since each costs this process two system calls.
const (
	frameBytes  = 9000
	headerBytes = 14
)

// tap is a network device of which this process is the cable: what the kernel sends is read from it, and
// what is written to it the kernel receives.
type tap struct {
	*os.File
	name string
	mac  [6]byte
}

// openTap makes a device in the namespace of the thread that it runs on. A %d in its name becomes the first
// free number. The device is there until it is closed.
func openTap(name string) (*tap, error) {
	fd, err := unix.Open("/dev/net/tun", unix.O_RDWR|unix.O_CLOEXEC|unix.O_NONBLOCK, 0)
	if err != nil {
		return nil, fmt.Errorf("open /dev/net/tun: %w", err)
	}
	request, err := unix.NewIfreq(name)
	if err == nil {
		request.SetUint16(unix.IFF_TAP | unix.IFF_NO_PI)
		err = unix.IoctlIfreq(fd, unix.TUNSETIFF, request)
	}
	if err != nil {
		_ = unix.Close(fd)
		return nil, fmt.Errorf("device %s: %w", name, err)
	}
	return &tap{File: os.NewFile(uintptr(fd), "/dev/net/tun"), name: request.Name()}, nil
}

// start gives the device its address and switches it on, in the namespace of the thread that it runs on.
func (t *tap) start(at netip.Prefix) error {
	if err := configure(t.name, at); err != nil {
		return err
	}
	device, err := net.InterfaceByName(t.name)
	if err != nil {
		return err
	}
	copy(t.mac[:], device.HardwareAddr)
	return nil
}

func configure(device string, at netip.Prefix) error {
	socket, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer func() { _ = unix.Close(socket) }()
	mask := net.CIDRMask(at.Bits(), 32)
	for _, step := range []struct {
		request uint
		set     func(*unix.Ifreq) error
	}{
		{unix.SIOCSIFADDR, func(r *unix.Ifreq) error { return r.SetInet4Addr(at.Addr().AsSlice()) }},
		{unix.SIOCSIFNETMASK, func(r *unix.Ifreq) error { return r.SetInet4Addr(mask) }},
		{unix.SIOCSIFMTU, func(r *unix.Ifreq) error { r.SetUint32(frameBytes); return nil }},
		{unix.SIOCSIFFLAGS, func(r *unix.Ifreq) error { r.SetUint16(unix.IFF_UP); return nil }},
	} {
		request, err := unix.NewIfreq(device)
		if err != nil {
			return err
		}
		if err := step.set(request); err != nil {
			return err
		}
		if err := unix.IoctlIfreq(socket, step.request, request); err != nil {
			return fmt.Errorf("device %s at %s: %w", device, at, err)
		}
	}
	return nil
}

// close ends a read that waits.
func (t *tap) close() {
	_ = t.SetDeadline(time.Unix(1, 0))
	_ = t.Close()
}
