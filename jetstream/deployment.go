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
	// DefaultShards of a new deployment. Each is a bucket with its own appends, and one makes the largest appends.
	DefaultShards = 1
	// MaxShards keeps a typing error from creating thousands of buckets.
	MaxShards = messages.MaxShards
)

// DeploymentConfig selects the deployment to open, and configures one that is created.
type DeploymentConfig struct {
	// Prefix names the deployment within its NATS account.
	Prefix messages.Prefix
	// Shards is the number of buckets. 0: what the deployment has, else [DefaultShards]. It must be the number that a
	// deployment was created with, unless that was changed since.
	Shards uint32
	// Existing refuses to create a deployment, with [ErrNoDeployment].
	Existing bool
	// Replicas of each bucket that is created. 0: 1. Existing buckets keep theirs until [Deployment.Grow].
	Replicas int
	// Members returns the names of the servers that are reachable, for warnings. nil: those that the
	// connection knows of.
	Members func() []string
	// Log gets warnings. nil: [slog.Default].
	Log *slog.Logger
}

// Deployment is the buckets of all shards.
type Deployment struct {
	layout      layout
	streams     []jetstream.Stream
	appendLocks []appendLock // of each shard's bucket
	requested   int          // for how many replicas, 0 for any
	register    *Register    // nil if the user may not read it
	api         *jsapi.Requester
}

// OpenDeployment opens the deployment's buckets, or creates them if there are none yet. It can be called
// on several nodes at once, and completes an incomplete deployment after a crash. While JetStream is not
// ready it retries for 15 seconds. A cluster may wait for its other servers, so there it retries until ctx
// ends, and logs the wait after 10 seconds and then twice a minute.
//
// It refuses a deployment with another number of shards, of a newer format, of another application, with a missing
// bucket or in the midst of a restore, settings that are not safe, a server without JetStream or too old, and a user
// without permission. The error says what to do. ctx bounds the opening only.
func OpenDeployment(ctx context.Context, nc *nats.Conn, cfg DeploymentConfig) (*Deployment, error) {
	o, err := newOpener(nc, cfg)
	if err != nil {
		return nil, err
	}
	streams, err := o.open(ctx)
	if err != nil {
		return nil, fmt.Errorf("deployment %q: %w", cfg.Prefix, err)
	}
	return o.deployment(streams), nil
}

// deployment returns the deployment of buckets that are open.
func (o *opener) deployment(streams []jetstream.Stream) *Deployment {
	d := &Deployment{layout: o.layout, streams: streams, requested: o.requested, api: o.api, register: o.register}
	if o.register != nil && d.layout.generation == 0 {
		o.register.first = d.Shards()
	}
	for range streams {
		d.appendLocks = append(d.appendLocks, newAppendLock())
	}
	return d
}

// Shards returns how many shards there are.
func (d *Deployment) Shards() uint32 {
	return uint32(len(d.streams))
}

// Divided returns the shards with their generation.
func (d *Deployment) Divided() messages.Shards {
	return messages.Shards{Generation: d.layout.generation, Count: d.Shards()}
}

// Replicas returns how many replicas the buckets had when they were opened.
func (d *Deployment) Replicas() int {
	return d.streams[0].CachedInfo().Config.Replicas
}

// Bucket returns the bucket of a shard, which must be below [Deployment.Shards]. Call it for each
// ownership anew: see [Bucket].
func (d *Deployment) Bucket(shard uint32) *Bucket {
	return newBucket(d.api.Conn, d.streams[shard], d.layout.bucket(shard), d.appendLocks[shard])
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
	l := layout{prefix: cfg.Prefix, shards: cfg.Shards, replicas: replicas}
	return &opener{
		api:       api,
		layout:    l,
		register:  &Register{api: api, layout: l},
		mustExist: cfg.Existing,
		requested: cfg.Replicas,
	}, nil
}
