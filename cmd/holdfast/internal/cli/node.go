package cli

import "github.com/holdfast-io/holdfast/cmd/holdfast/internal/display"

// MaxReplicas is the bound of JetStream.
const MaxReplicas = 5

// IsServerName reports whether NATS accepts the name for a server, and it has at most maxBytes bytes.
func IsServerName(name string, maxBytes int) bool {
	return name != "" && len(name) <= maxBytes && display.OneLine(name) == name && display.Name(name) == name
}
