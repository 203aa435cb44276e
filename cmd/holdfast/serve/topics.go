package serve

import "github.com/spf13/cobra"

// Topics returns the help topics with the flags that the help of serve does not show.
func Topics() []*cobra.Command {
	cmd := New("", nil)
	return []*cobra.Command{
		tlsTopic.Command(cmd, "Certificates and logins of holdfast serve",
			`The flags of holdfast serve about TLS and logins. The embedded NATS server shows
the certificate to clients, which log in as its file --auth or --nats-config
requires. The node is such a client, too: the login is its own.`),
		limitsTopic.Command(cmd, "Limits and memory of holdfast serve",
			`The flags of holdfast serve about the load and the memory of a node. A request
beyond a limit is refused with OVERLOADED, a longer lease with INVALID, and has
no effect. In a control group (a container, a unit of systemd) the default
limits shrink to what fits into its memory.`),
	}
}
