//go:build linux

package tap

import (
	"fmt"
	"net"
	"net/netip"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// FrameBytes is what a device sends at once: long frames, since each costs this process two system calls.
const FrameBytes = 9000

// Device is a network device: what the kernel sends is read from it, and what is written to it the kernel receives.
type Device struct {
	*os.File
	Name string
	MAC  [6]byte
}

// Open makes a device in the namespace of the thread that it runs on. A %d in its name becomes the first
// free number. flags are more of those of TUNSETIFF. The device is there until it is closed.
func Open(name string, flags uint16) (*Device, error) {
	fd, err := unix.Open("/dev/net/tun", unix.O_RDWR|unix.O_CLOEXEC|unix.O_NONBLOCK, 0)
	if err != nil {
		return nil, fmt.Errorf("open /dev/net/tun: %w", err)
	}
	request, err := unix.NewIfreq(name)
	if err == nil {
		request.SetUint16(unix.IFF_TAP | unix.IFF_NO_PI | flags)
		err = unix.IoctlIfreq(fd, unix.TUNSETIFF, request)
	}
	if err != nil {
		_ = unix.Close(fd)
		return nil, fmt.Errorf("device %s: %w", name, err)
	}
	return &Device{File: os.NewFile(uintptr(fd), "/dev/net/tun"), Name: request.Name()}, nil
}

// Start gives the device its address and switches it on, in the namespace of the thread that it runs on.
func (d *Device) Start(at netip.Prefix) error {
	if err := Configure(d.Name, at); err != nil {
		return err
	}
	device, err := net.InterfaceByName(d.Name)
	if err != nil {
		return err
	}
	copy(d.MAC[:], device.HardwareAddr)
	return nil
}

// Configure gives a device of whatever kind its address and switches it on, in the namespace of the thread that it
// runs on.
func Configure(device string, at netip.Prefix) error {
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
		{unix.SIOCSIFMTU, func(r *unix.Ifreq) error { r.SetUint32(FrameBytes); return nil }},
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

// Close ends a read that waits.
func (d *Device) Close() {
	_ = d.SetDeadline(time.Unix(1, 0))
	_ = d.File.Close()
}
