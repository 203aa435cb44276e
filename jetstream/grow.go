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

// A new replica is looked at ever more rarely until it has caught up: the first usually has at once, and
// one whose server is away may take days.
const (
	firstLook = 250 * time.Millisecond
	longLook  = 5 * time.Second
)

// Grow raises the replicas of every bucket to as many as [DeploymentConfig] asks for, and those of the
// stream of events with them, one after the other: the next when all replicas of the last are current.
// The deployment is in use meanwhile. It waits for servers that are missing until ctx ends, also where a
// node that was killed has begun with it. It never lowers. Several nodes may do it at once.
func (d *Deployment) Grow(ctx context.Context) error {
	names := []string{d.prefix.EventStream()}
	for shard := range d.Shards() {
		names = append(names, streamName(d.prefix.Bucket(shard)))
	}
	for _, name := range names {
		if err := d.growStream(ctx, name); err != nil {
			return fmt.Errorf("raise the replicas of %s to %d: %w", name, d.asked, err)
		}
	}
	return nil
}

func (d *Deployment) growStream(ctx context.Context, name string) error {
	api := d.api.Restarted()
	stream, err := api.Stream(ctx, name)
	if errors.Is(err, jetstream.ErrStreamNotFound) && name == d.prefix.EventStream() {
		return nil
	}
	if err != nil {
		return err
	}
	config := stream.CachedInfo().Config
	had, has := config.Replicas, max(config.Replicas, d.asked)
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
	d.log.Info("a stream has all its replicas now", "stream", name, "had", had, "has", has, "took", time.Since(began).Round(time.Millisecond))
	return nil
}

// awaitCurrent returns when the stream has all its replicas, and none is behind.
func awaitCurrent(ctx context.Context, api *jsapi.Requester, name string) error {
	for backoff := (retry.Backoff{Min: firstLook, Max: longLook}); ; {
		stream, err := api.Stream(ctx, name)
		if err != nil || jsapi.IsComplete(stream.CachedInfo()) {
			return err
		}
		if err := backoff.Wait(ctx); err != nil {
			return err
		}
	}
}
