package jetstream

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/holdfast-io/holdfast/jetstream/internal/jsapi"
	"github.com/holdfast-io/holdfast/jetstream/internal/retry"
)

// Bounds of the interval between two looks at a new replica. The first one usually catches up at once; one
// whose server is away may take days.
const (
	minPoll = 250 * time.Millisecond
	maxPoll = 5 * time.Second
)

// Grow raises the replicas of every bucket, and those of the stream of events, to the number of
// [DeploymentConfig], one stream after the other: the next when all replicas of the last are current. The
// deployment is usable meanwhile. Grow waits for missing servers until ctx ends, and continues what a killed
// node has begun. It never lowers the number. Several nodes may call it at the same time.
func (d *Deployment) Grow(ctx context.Context) error {
	names := []string{d.layout.prefix.EventStream(), streamName(d.layout.prefix.Register())}
	for shard := range d.Shards() {
		names = append(names, streamName(d.layout.bucket(shard)))
	}
	for _, name := range names {
		if err := d.growStream(ctx, name); err != nil {
			return fmt.Errorf("raise the replicas of %s to %d: %w", name, d.requested, err)
		}
	}
	return nil
}

func (d *Deployment) growStream(ctx context.Context, name string) error {
	api := d.api.Restarted()
	stream, err := api.Stream(ctx, name)
	isOptional := name == d.layout.prefix.EventStream() || name == streamName(d.layout.prefix.Register())
	if isOptional && (errors.Is(err, jetstream.ErrStreamNotFound) || d.register == nil && errors.Is(err, ErrForbidden)) {
		return nil
	}
	if err != nil {
		return err
	}
	config := stream.CachedInfo().Config
	had, has := config.Replicas, max(config.Replicas, d.requested)
	if had == has && (has == 1 || jsapi.IsComplete(stream.CachedInfo())) {
		return nil
	}
	began := time.Now()
	if had < has {
		config.Replicas = has
		if err := api.UpdateStream(ctx, config); err != nil {
			return err
		}
	}
	if err := awaitCurrent(ctx, api, name); err != nil {
		return err
	}
	d.api.Config.Log.Info("a stream now has all its replicas", "stream", name, "had", had, "has", has, "took",
		time.Since(began).Round(time.Millisecond))
	return nil
}

// awaitCurrent returns when the stream has all its replicas, and none is behind.
func awaitCurrent(ctx context.Context, api *jsapi.Requester, name string) error {
	for backoff := (retry.Backoff{Min: minPoll, Max: maxPoll}); ; {
		stream, err := api.Stream(ctx, name)
		if err != nil || jsapi.IsComplete(stream.CachedInfo()) {
			return err
		}
		if err := backoff.Wait(ctx); err != nil {
			return err
		}
	}
}
