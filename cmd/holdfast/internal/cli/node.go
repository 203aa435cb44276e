package cli

import (
	"github.com/holdfast-io/holdfast/cmd/holdfast/internal/display"
	"github.com/holdfast-io/holdfast/messages/peer"
)

// MaxReplicas is the bound of JetStream.
const MaxReplicas = 5

// IsNodeName reports whether NATS accepts the name for a server.
func IsNodeName(name string) bool {
	return name != "" && len(name) <= peer.MaxNodeNameBytes &&
		display.OneLine(name) == name && display.Name(name) == name
}
