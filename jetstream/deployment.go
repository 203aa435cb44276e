package jetstream

import (
	"context"
	"fmt"
	"log/slog"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/holdfast-io/holdfast/jetstream/internal/jsapi"
	"github.com/holdfast-io/holdfast/messages"
)

const (
	// DefaultShards of a new deployment. Each is a bucket with its own appends: enough for the nodes of
	// a small cluster to share, few enough for one disk.
	DefaultShards = 4
	// MaxShards keeps a slip of the finger from making thousands of buckets.
	MaxShards = 1024
)

// DeploymentConfig says what deployment to open, and how to make it if there is none.
type DeploymentConfig struct {
	// Prefix names the deployment within its NATS account.
	Prefix messages.Prefix
	// Shards is the number of buckets. 0: what the deployment has, else [DefaultShards]. A deployment
	// keeps the number that it was made with.
	Shards uint32
	// Replicas of each bucket that is made. 0: 1. Existing buckets keep theirs until [Deployment.Grow].
	Replicas int
	// Members returns the names of the servers that are there, for warnings. nil: those of which the
	// connection knows.
	Members func() []string
	// Log gets warnings. nil: [slog.Default].
	Log *slog.Logger
}

// Deployment is the buckets of all shards.
type Deployment struct {
	nc      *nats.Conn
	js      jetstream.JetStream
	prefix  messages.Prefix
	streams []jetstream.Stream
	turns   []turn // of each shard's bucket
	asked   int    // for how many replicas, 0 for any
	api     *jsapi.Requester
	log     *slog.Logger
}

// OpenDeployment opens the deployment's buckets, or makes them if there are none yet. It can be called
// on several nodes at once, and completes what a crash has left half made. While JetStream is not
// ready it keeps trying for 15 seconds, and with a cluster until ctx ends, for it may be waiting for its
// other servers; it says so after 10 seconds and then twice a minute.
//
// It refuses, with an error that says what to do, a deployment of another number of shards, of a newer
// format, of somebody else or with a bucket missing, settings that are no longer safe, a server without
// JetStream, without permission, or too old. ctx bounds the opening only.
func OpenDeployment(ctx context.Context, nc *nats.Conn, cfg DeploymentConfig) (*Deployment, error) {
	o, err := newOpener(nc, cfg)
	if err != nil {
		return nil, err
	}
	streams, err := o.open(ctx)
	if err != nil {
		return nil, fmt.Errorf("deployment %q: %w", cfg.Prefix, err)
	}
	d := &Deployment{nc: nc, js: o.api.JS, prefix: cfg.Prefix, streams: streams, asked: o.asked, api: o.api, log: o.log}
	for range streams {
		d.turns = append(d.turns, newTurn())
	}
	return d, nil
}

// Shards returns how many shards the deployment was made with.
func (d *Deployment) Shards() uint32 {
	return uint32(len(d.streams))
}

// Replicas returns how many replicas the buckets had when they were opened.
func (d *Deployment) Replicas() int {
	return d.streams[0].CachedInfo().Config.Replicas
}

// Bucket returns the bucket of a shard, which must be below [Deployment.Shards]. Call it for each
// ownership anew: see [Bucket].
func (d *Deployment) Bucket(shard uint32) *Bucket {
	return newBucket(d.nc, d.js, d.streams[shard], d.prefix.Bucket(shard), d.turns[shard])
}

func newOpener(nc *nats.Conn, cfg DeploymentConfig) (*opener, error) {
	if _, err := messages.ParsePrefix(string(cfg.Prefix)); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrConfig, err)
	}
	if cfg.Shards > MaxShards {
		return nil, fmt.Errorf("%w: %d shards, at most %d", ErrConfig, cfg.Shards, MaxShards)
	}
	if cfg.Replicas < 0 {
		return nil, fmt.Errorf("%w: %d replicas", ErrConfig, cfg.Replicas)
	}
	replicas := max(cfg.Replicas, 1)
	api, err := jsapi.NewRequester(nc, jsapi.Config{Replicas: replicas, Members: cfg.Members, Log: cfg.Log})
	if err != nil {
		return nil, err
	}
	return &opener{
		api:    api,
		layout: layout{prefix: cfg.Prefix, shards: cfg.Shards, replicas: replicas},
		asked:  cfg.Replicas,
		log:    api.Config.Log,
	}, nil
}
