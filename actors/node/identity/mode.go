package identity

import (
	"fmt"
	"strings"
)

// Mode says whom NATS verifies. The zero Mode is [None].
type Mode int

// The modes.
const (
	// None: a request names its owner, and permissions are all that is checked.
	None Mode = iota
	// Account: the owner is the account of the client.
	Account
	// User: the owner is the user of the client.
	User
)

var modes = []string{None: "none", Account: "account", User: "user"}

// Modes returns the names of all modes.
func Modes() []string { return append([]string(nil), modes...) }

// ParseMode returns the mode with a name.
func ParseMode(name string) (Mode, error) {
	for m, n := range modes {
		if n == name {
			return Mode(m), nil
		}
	}
	return None, fmt.Errorf("identity: one of %s, got %q", strings.Join(modes, ", "), name)
}

// String returns the name of the mode.
func (m Mode) String() string { return modes[m] }
