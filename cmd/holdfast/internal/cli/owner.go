package cli

import (
	"os"
	"os/user"
	"strconv"
)

// DefaultOwner returns user@host. It is the same in every invocation, so that one command can release what another has
// acquired, and it identifies the holder to others.
func DefaultOwner() string {
	return userName() + "@" + HostName()
}

// userName falls back to the user id: in containers users often have no name.
func userName() string {
	if u, err := user.Current(); err == nil && u.Username != "" {
		return u.Username
	}
	return strconv.Itoa(os.Getuid())
}

// HostName returns the name of this host, "localhost" if it has none.
func HostName() string {
	if name, err := os.Hostname(); err == nil && name != "" {
		return name
	}
	return "localhost"
}
