package node

import (
	"context"
	"log/slog"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/holdfast-io/holdfast/actors"
	"github.com/holdfast-io/holdfast/actors/node/identity"
	"github.com/holdfast-io/holdfast/messages"
	"github.com/holdfast-io/holdfast/messages/journal"
)

// Config is what a node is made of. Every field must be set but Tuning, Capacity, and those of events and of other
// nodes.
type Config struct {
	// Name identifies the node in logs, in journals and to other nodes.
	Name    string
	Version string
	Prefix  messages.Prefix
	// Shards is how many the deployment has, and Generation of which generation they are.
	Shards     uint32
	Generation uint32
	// Register says which generation is in use, and Open opens the journals of another one; nil: their number never
	// changes. A node that is alone does not follow the register.
	Register Register
	Open     func(ctx context.Context, of messages.Shards) (*Journals, error)
	Limits   *messages.Limits
	Tuning   actors.Tuning
	// Identity says whose owners the node verifies. All nodes of a deployment must have the same.
	Identity identity.Mode
	// Capacity bounds what the node takes on.
	Capacity Capacity
	// Tenants are the accounts with resources of their own, by name. nil: there are none, and none can be set later.
	Tenants map[string]TenantLimits
	// Journal returns a shard's bucket.
	Journal func(shard uint32) actors.Journal
	Clock   actors.Clock
	// Intake is the connection on which requests arrive, Outbox the one on which answers leave. They are two so that
	// the right to publish to inboxes is enough for the latter. The node takes both over and closes them.
	Intake, Outbox *nats.Conn
	// Events is the connection on which events are published, by itself so that a slow subscriber delays nothing
	// else; nil to publish none. It is best made with nats.NoEcho, which keeps the node's own events from it. The
	// node takes it over and closes it.
	Events *nats.Conn
	// Interest reports whether a message on a subject would reach a subscriber; events that would not are not
	// published. It must not block. nil: it is not known, and all events are published.
	Interest func(subject string) bool
	// Retainer stores events before they are published to subscribers; nil if they are not stored. It needs Events.
	Retainer actors.Publisher
	// Peers is the connection to the other nodes; nil for a node that is alone and owns every shard. Its user must be
	// allowed to publish and to subscribe to Prefix.Nodes(), and no client should be. The node takes it over and
	// closes it.
	Peers *nats.Conn
	// First: no other node can own a shard yet, as with a NATS server that has just been started, so the node does
	// not listen for others before it begins.
	First bool
	// Leads reports whether the NATS server of this process leads the bucket of a shard, for which the node is
	// preferred then; nil if there is none. It must not block.
	Leads func(shard uint32) bool
	// TransferLeadership moves the leadership of a shard's bucket from the NATS server of this process to that of
	// another node, to which the shard is handed over; nil if there is none. It returns soon.
	TransferLeadership func(ctx context.Context, shard uint32, node string) error
	// Fault returns what keeps the NATS server of this process from storing; refusals name such a fault. It must not
	// block. nil: NATS is elsewhere.
	Fault func() error
	// Storage returns what the NATS server of this process stores on, for `nats micro stats`. It is asked at each
	// question. nil: NATS is elsewhere.
	Storage func() Storage
	// Observer receives what the node and its shards do; nil: nobody does.
	Observer Observer
	// Tracer receives traced requests; nil: nobody does, and their traces only go on to other nodes.
	Tracer Tracer
	Log    *slog.Logger
	// Audit receives what operators did, and which nodes came and went; nil: Log does.
	Audit *slog.Logger
}

// Register says which generation of shards is in use. Its methods are called one at a time by the node, and concurrently
// by its shards.
type Register interface {
	// Read returns what the register says, and its revision. It may return an earlier content.
	Read(ctx context.Context) (content *journal.Register, revision uint64, err error)
	// Write replaces the register of the revision, or returns an error. [journal.ErrConflict]: another one was written in
	// its place.
	Write(ctx context.Context, revision uint64, content *journal.Register) error
}

// Journals are the buckets of a generation of shards.
type Journals struct {
	// Journal and Tuning are as in [Config].
	Journal func(shard uint32) actors.Journal
	Tuning  actors.Tuning
	// Try returns an error unless the node may write to them and to the register.
	Try func(ctx context.Context) error
	// Use is called when the node goes on to the generation: Leads, TransferLeadership and Storage of [Config] are about
	// it then.
	Use func()
}

// Storage is what the NATS server in the process of a node stores on.
type Storage struct {
	// Synced: a write is confirmed only when it is on disk.
	Synced bool `json:"synced"`
	// FreeBytes is how much of the TotalBytes of the disk is free for this process. Both are 0 if the system does not
	// say.
	FreeBytes  uint64 `json:"free_bytes"`
	TotalBytes uint64 `json:"total_bytes"`
	// Fault is why the server cannot store now; empty if it can.
	Fault string `json:"fault,omitempty"`
	// Behind is how many replicas are away or behind, of each shard whose stream this server leads: no other one knows.
	Behind map[uint32]int `json:"behind,omitempty"`
	// Certificates is when those of the server end, by what they are for.
	Certificates map[string]time.Time `json:"certificates,omitempty"`
}

// connections are those that the node needs to work.
func (c *Config) connections() []*nats.Conn {
	all := []*nats.Conn{c.Intake, c.Outbox}
	if c.Events != nil {
		all = append(all, c.Events)
	}
	if c.Peers != nil {
		all = append(all, c.Peers)
	}
	return all
}
