//go:build !linux

package network

import (
	"errors"
	"time"
)

var errLinux = errors.New("a delay takes the network namespaces of Linux; run it without -delay")

// Network is only on Linux.
type Network struct{}

// Enter returns an error.
func Enter() (entered bool, err error) { return false, errLinux }

// Outside calls f.
func Outside(f func() error) error { return f() }

// SwitchIfAsked does nothing.
func SwitchIfAsked() (asked bool, err error) { return false, nil }

// Open returns an error.
func Open(int, time.Duration) (*Network, error) { return nil, errLinux }

// Addresses returns none.
func (n *Network) Addresses(int) []string { return nil }

// Inside returns an error.
func (n *Network) Inside(int, func() error) error { return errLinux }

// CPU returns none.
func (n *Network) CPU() time.Duration { return 0 }

// Close does nothing.
func (n *Network) Close() (Echoes, error) { return Echoes{}, errLinux }
