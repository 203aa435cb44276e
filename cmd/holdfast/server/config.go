package server

import (
	"cmp"
	"log/slog"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/holdfast-io/holdfast/actors"
	"github.com/holdfast-io/holdfast/actors/node"
	"github.com/holdfast-io/holdfast/actors/node/identity"
	"github.com/holdfast-io/holdfast/cmd/holdfast/health"
	"github.com/holdfast-io/holdfast/jetstream/embedded"
	"github.com/holdfast-io/holdfast/messages"
)

// Config configures a server.
type Config struct {
	// Config is that of the node. Only its Name is required, which is unique within the deployment and stays the same
	// after a restart. The zero Prefix, Limits, Log and Clock stand for [messages.DefaultPrefix], [messages.DefaultLimits],
	// [slog.Default] and [actors.SystemClock]. Shards are those of a new deployment; 0: those of the existing one, or
	// [jetstream.DefaultShards]. With an embedded NATS server and [identity.User], the server must have users that NATS
	// verifies whatever a client claims: see [embedded.Config]. This package sets the connections, the journals, and what concerns the NATS server.
	node.Config

	// Embedded configures the NATS server in this process. An empty Name is that of the node. Its Log, Login and Stream
	// are set by this package.
	Embedded embedded.Config
	// NATS leads to a NATS server with JetStream that others run, and Embedded is unused then: the Opts of a connection
	// of the application will do. The node opens connections of its own, five at most, to the same servers with the same
	// login, TLS, dialer and prefix of inboxes, and closes them; the connection itself is neither used nor closed. What
	// the login gives has to be valid for each connection and reconnection. `holdfast access node` prints the
	// permissions that the user needs. nil: NATS is embedded.
	NATS *nats.Options
	// Login authenticates the node's connections, in addition to what NATS says.
	Login []nats.Option

	// Health learns when the node has started and when it is about to stop; nil: nobody does. It is that of one node.
	Health *health.Health

	// Replicas is the minimum number of NATS servers that store each shard. 0: those of the existing
	// deployment, or 1.
	Replicas int

	// Remembered is the number of free resources that the deployment remembers, divided evenly among its
	// shards. 0: Tuning.MaxRemembered for each shard.
	Remembered int

	// Retention is how long the event stream keeps events. 0: there is no event stream.
	Retention time.Duration
	// Alone: the deployment has no other node, now or later: the node owns every shard at once.
	Alone bool

	// StopTimeout bounds [Server.Stop]. 0: 10 s.
	StopTimeout time.Duration
}

func (c Config) withDefaults() Config {
	c.Prefix = cmp.Or(c.Prefix, messages.DefaultPrefix)
	c.StopTimeout = cmp.Or(c.StopTimeout, stopTimeout)
	c.Embedded.Name = cmp.Or(c.Embedded.Name, c.Name)
	c.Embedded.ClusterName = cmp.Or(c.Embedded.ClusterName, string(c.Prefix))
	if c.Limits == nil {
		c.Limits = messages.DefaultLimits()
	}
	if c.Log == nil {
		c.Log = slog.Default()
	}
	if c.NATS != nil {
		of := *c.NATS // the application may set callbacks of its connection later
		c.NATS = &of
	}
	if c.Health == nil {
		c.Health = health.New()
	}
	c.Embedded.Log = c.Log
	c.Embedded.Login = c.Login
	c.Embedded.Stream = "KV_" + c.Prefix.Bucket(messages.Shard{})
	c.Embedded.VerifiedUsers = c.Identity == identity.User
	return c
}

// isAlone reports whether the node's NATS server takes no members of a cluster. So no other node can own a shard when
// this one starts.
func (c Config) isAlone() bool {
	return c.NATS == nil && c.Embedded.ConfigFile == "" && c.Embedded.ClusterListen == ""
}

// tuning returns the settings of each of the shards.
func (c Config) tuning(shards uint32) actors.Tuning {
	t := c.Tuning
	if c.Remembered > 0 {
		t.MaxRemembered = (c.Remembered + int(shards) - 1) / int(shards)
	}
	return t
}
