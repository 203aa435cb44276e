package web

import (
	"errors"
	"syscall"
)

// wsaeaddrinuse is what Windows returns; syscall.EADDRINUSE is a number of Go's own there.
const wsaeaddrinuse = syscall.Errno(10048)

// isInUse reports whether another program listens at the address.
func isInUse(err error) bool {
	return errors.Is(err, syscall.EADDRINUSE) || errors.Is(err, wsaeaddrinuse)
}
