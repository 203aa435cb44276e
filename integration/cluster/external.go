//go:build linux

package cluster

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// natsServer is the path of the nats-server that clusters with External run.
func (c *Cluster) natsServer() string { return filepath.Join(c.place.dir, "nats-server") }

// configFile is where a node has what its nats-server takes from a file alone.
func (n *node) configFile() string { return filepath.Join(n.dir, "nats.conf") }

// prepareServer writes the configuration of a nats-server.
func (n *node) prepareServer() error {
	return os.WriteFile(n.configFile(), []byte("jetstream { sync_interval: always }\n"), 0o600)
}

// serverCommand returns how the nats-server of a node is started.
func (c *Cluster) serverCommand(n *node) []string {
	return []string{c.natsServer(), "--config", n.configFile(), "--name", n.name, "--addr", n.host, "--port", "4222",
		"--store_dir", n.data(), "--cluster_name", "nats", "--cluster", "nats://" + n.route(),
		"--routes", fmt.Sprint("nats://", strings.ReplaceAll(c.routes(), ",", ",nats://"))}
}
