package jetstream

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/holdfast-io/holdfast/jetstream/internal/jsapi"
	"github.com/holdfast-io/holdfast/jetstream/internal/retry"
)

const (
	// visibleTimeout bounds the wait until the connected server knows a bucket that was created.
	visibleTimeout = 15 * time.Second
	// visiblePoll is the interval between two looks.
	visiblePoll = 250 * time.Millisecond
)

// opener opens or creates the buckets of one deployment. Bucket 0 is created last: while it is missing the
// deployment is incomplete, and once it exists no other may be missing.
type opener struct {
	api       *jsapi.Requester
	layout    layout // shards is 0 until it is known
	mustExist bool   // create none
	requested int    // for how many replicas, 0 for any
	register  *Register
}

func (o *opener) open(ctx context.Context) ([]jetstream.Stream, error) {
	if err := o.checkServer(o.layout.replicas); err != nil {
		return nil, err
	}
	if err := o.learnGeneration(ctx); err != nil {
		return nil, err
	}
	first, err := o.find(ctx, 0)
	if errors.Is(err, jetstream.ErrStreamNotFound) && o.layout.generation > 0 {
		return nil, o.lostError(0)
	}
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		if o.mustExist {
			return nil, fmt.Errorf("%w: this account has no bucket %s; check --prefix and the account of the user",
				ErrNoDeployment, o.layout.bucket(0))
		}
		if err := o.createAll(ctx); err != nil {
			return nil, err
		}
		first, err = o.find(ctx, 0)
	}
	if err != nil {
		return nil, err
	}
	if err := o.learnShards(0, first); err != nil {
		return nil, err
	}
	if err := o.checkReplicas(first.CachedInfo()); err != nil {
		return nil, err
	}
	return o.openAll(ctx)
}

func (o *opener) openAll(ctx context.Context) (streams []jetstream.Stream, err error) {
	streams = make([]jetstream.Stream, o.layout.shards)
	for shard := range o.layout.shards {
		if streams[shard], err = o.openBucket(ctx, shard); err != nil {
			return nil, err
		}
	}
	return streams, nil
}

// learnGeneration takes the generation of shards, and their number unless it is the first one, from the register. A user
// who may not read that has the rights for an earlier version, before which there was only one.
func (o *opener) learnGeneration(ctx context.Context) error {
	r, _, err := o.register.Read(ctx)
	switch {
	case errors.Is(err, ErrForbidden) && strings.Contains(err.Error(), streamName(o.layout.prefix.Register())):
		o.api.Config.Log.Warn("this user has no right to another number of shards: see holdfast access", "error", err)
		o.register = nil
		return nil
	case err != nil:
		return err
	case r.InUse().Generation == 0:
		return nil
	}
	is := r.InUse()
	if asked := o.layout.shards; asked != 0 && asked != is.Count {
		o.api.Config.Log.Warn("the deployment has another number of shards by now", "shards", is.Count, "asked", asked)
	}
	o.layout.generation, o.layout.shards = is.Generation, is.Count
	return nil
}

// checkReplicas refuses more replicas than possible, and warns if the buckets have more than requested.
func (o *opener) checkReplicas(info *jetstream.StreamInfo) error {
	has := info.Config.Replicas
	switch {
	case o.requested > has && (info.Cluster == nil || info.Cluster.Name == ""):
		return o.needCluster(fmt.Errorf("%s is alone", o.api.Conn.ConnectedServerName()))
	case o.requested > has:
		return o.checkServer(o.requested)
	case o.requested != 0 && o.requested < has:
		o.api.Config.Log.Warn("the buckets keep their number of replicas", "deployment", o.layout.prefix, "replicas",
			has, "asked", o.requested)
	}
	return nil
}

func (o *opener) needCluster(why error) error {
	return fmt.Errorf("%w: %d replicas need a JetStream cluster of as many servers: %w", ErrConfig, max(o.requested, 1),
		why)
}

func (o *opener) openBucket(ctx context.Context, shard uint32) (jetstream.Stream, error) {
	stream, err := o.find(ctx, shard)
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		return nil, o.lostError(shard)
	}
	if err != nil {
		return nil, err
	}
	config := stream.CachedInfo().Config
	if err := o.layout.check(shard, config); err != nil {
		return nil, err
	}
	if config.Replicas > 1 {
		return stream, o.checkServer(config.Replicas)
	}
	return stream, nil
}

func (o *opener) lostError(shard uint32) error {
	return fmt.Errorf(
		"%w: %s, though the deployment was complete; "+
			"restore it from a backup: an empty one would issue its tokens a second time",
		ErrBucketLost, o.layout.bucket(shard))
}

// createAll creates the missing buckets, from the last to the first.
func (o *opener) createAll(ctx context.Context) error {
	if err := o.learnFromOthers(ctx); err != nil {
		return err
	}
	if o.layout.shards == 0 {
		o.layout.shards = DefaultShards
	}
	for shard := o.layout.shards; shard > 0; shard-- {
		if err := o.create(ctx, shard-1, o.layout.config(shard-1)); err != nil {
			return err
		}
	}
	return nil
}

// create creates a bucket with these settings, unless there is one, and returns when it can be found. openBucket checks
// one that exists.
func (o *opener) create(ctx context.Context, shard uint32, config jetstream.StreamConfig) error {
	_, err := o.api.CreateStream(ctx, config)
	switch {
	case jsapi.HasCode(err, jsapi.CodeNoReplicas, jsapi.CodeNoSuitablePeers):
		return o.needCluster(err)
	case err != nil && !errors.Is(err, jetstream.ErrStreamNameAlreadyInUse):
		return fmt.Errorf("cannot create bucket %s: %w", o.layout.bucket(shard), err)
	}
	return o.awaitBucket(ctx, shard)
}

// awaitBucket returns when a bucket that was created can be found. A cluster confirms it before each of its
// servers knows it, in particular if another node creates it at the same time.
func (o *opener) awaitBucket(ctx context.Context, shard uint32) error {
	until := time.Now().Add(visibleTimeout)
	for {
		_, err := o.find(ctx, shard)
		if !errors.Is(err, jetstream.ErrStreamNotFound) || time.Now().After(until) {
			return err
		}
		if err := retry.Pause(ctx, visiblePoll); err != nil {
			return err
		}
	}
}

// learnFromOthers takes the number of shards from the buckets of an incomplete deployment, which a crash has
// left or another node is creating. If one of them was used, bucket 0 is lost and not missing yet.
func (o *opener) learnFromOthers(ctx context.Context) error {
	shards, err := o.existing(ctx)
	if err != nil {
		return err
	}
	for _, shard := range shards {
		stream, err := o.find(ctx, shard)
		if errors.Is(err, jetstream.ErrStreamNotFound) {
			continue
		}
		if err != nil {
			return err
		}
		if err := o.learnShards(shard, stream); err != nil {
			return err
		}
		if stream.CachedInfo().State.LastSeq == 0 {
			continue
		}
		if _, err := o.find(ctx, 0); errors.Is(err, jetstream.ErrStreamNotFound) {
			return o.lostError(0)
		}
	}
	return nil
}

// learnShards takes the number of shards from a bucket.
func (o *opener) learnShards(shard uint32, stream jetstream.Stream) error {
	made, err := o.layout.shardsOf(o.layout.bucket(shard), stream.CachedInfo().Config)
	if err != nil {
		return err
	}
	if o.layout.shards != 0 && o.layout.shards != made {
		return o.layout.otherShards(made)
	}
	o.layout.shards = made
	return nil
}

// existing returns the shards for which a bucket exists.
func (o *opener) existing(ctx context.Context) ([]uint32, error) {
	prefix := strings.TrimSuffix(streamName(o.layout.bucket(0)), "0")
	var shards []uint32
	err := o.api.Do(ctx, "STREAM.NAMES", func(ctx context.Context) error {
		shards = nil
		names := o.api.JS.StreamNames(ctx, jetstream.WithStreamListSubject("$KV.*.>"))
		for name := range names.Name() {
			number, ok := strings.CutPrefix(name, prefix)
			if !ok {
				continue
			}
			if shard, err := strconv.ParseUint(number, 10, 32); err == nil {
				shards = append(shards, uint32(shard))
			}
		}
		return names.Err()
	})
	return shards, err
}

// find returns a shard's bucket as it is now.
func (o *opener) find(ctx context.Context, shard uint32) (jetstream.Stream, error) {
	return o.api.Stream(ctx, streamName(o.layout.bucket(shard)))
}

// checkServer refuses a server that is too old for replicas, and warns of one that is too old anyway.
func (o *opener) checkServer(replicas int) error {
	version := o.api.Conn.ConnectedServerVersion()
	switch {
	case !IsTooOld(version):
		return nil
	case replicas > 1:
		return fmt.Errorf(
			"%w: it runs %s, replicated buckets need %s or newer; upgrade every server, or use one replica",
			ErrServerTooOld, version, MinVersion)
	}
	o.api.Config.Log.Warn("the NATS server is too old, upgrade it", "version", version, "needed", MinVersion)
	return nil
}
