//go:build !windows

package web

import (
	"errors"
	"syscall"
)

// isInUse reports whether another program listens at the address.
func isInUse(err error) bool { return errors.Is(err, syscall.EADDRINUSE) }
