package cli

import (
	"os"
	"os/user"
	"strconv"
)

// DefaultOwner is user@host: the same from one invocation to the next, so that what one command has
// acquired another can release, and telling to whoever finds the lock held.
func DefaultOwner() string {
	return userName() + "@" + HostName()
}

// userName falls back to the number, since in containers users often have no name.
func userName() string {
	if u, err := user.Current(); err == nil && u.Username != "" {
		return u.Username
	}
	return strconv.Itoa(os.Getuid())
}

func HostName() string {
	if name, err := os.Hostname(); err == nil && name != "" {
		return name
	}
	return "localhost"
}
