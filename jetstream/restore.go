package jetstream

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/holdfast-io/holdfast/jetstream/internal/jsapi"
	"github.com/holdfast-io/holdfast/jetstream/internal/retry"
)

// finishTimeout bounds the look whether a restore was finished, if the answer that says so was lost.
const finishTimeout = 5 * time.Second

// createAttempts bounds how often a server is asked to create a bucket. It takes 63 ms, far longer than removing a
// directory.
const createAttempts = 7

// Restore is a deployment that is being filled. Until [Restore.Finish] has returned nil, [OpenDeployment] refuses it
// with [ErrUnfinished]. One that was interrupted is begun again, from nothing.
//
// Bucket 0 is created first and removed last, and it is the last one to lose its mark. So it marks whatever else is
// there.
type Restore struct {
	opener  *opener
	streams []jetstream.Stream
	id      string
	after   uint64
}

// BeginRestore creates the buckets of the deployment, of which there may be none yet. Their first position is the one
// behind after. Buckets that an interrupted restore has left are removed first. Only one process may do so at a time.
//
// It returns [ErrNotEmpty], and changes nothing, if there is a bucket or a stream of events.
func BeginRestore(ctx context.Context, nc *nats.Conn, cfg DeploymentConfig, after uint64) (*Restore, error) {
	o, err := newOpener(nc, cfg)
	if err != nil {
		return nil, err
	}
	if o.layout.shards == 0 {
		o.layout.shards = DefaultShards
	}
	r := &Restore{opener: o, id: rand.Text(), after: after}
	if err := r.begin(ctx); err != nil {
		return nil, fmt.Errorf("deployment %q: %w", cfg.Prefix, err)
	}
	return r, nil
}

// Shards returns how many shards the deployment is created with.
func (r *Restore) Shards() uint32 { return r.opener.layout.shards }

// Bucket returns the bucket of a shard, which must be below [Restore.Shards]. Call it once for each.
func (r *Restore) Bucket(shard uint32) *Bucket {
	return newBucket(r.opener.api.Conn, r.streams[shard], r.name(shard), newAppendLock())
}

// Finish makes the deployment one that nodes open. All records must have been appended.
func (r *Restore) Finish(ctx context.Context) error {
	for shard := r.opener.layout.shards; shard > 0; shard-- {
		stream, err := r.opener.find(ctx, shard-1)
		if err != nil {
			return err
		}
		config := stream.CachedInfo().Config
		if config.Metadata[metaRestore] != r.id {
			return r.disturbed(shard - 1)
		}
		delete(config.Metadata, metaRestore)
		err = r.opener.api.UpdateStream(ctx, config)
		if err != nil && !r.isFinished(ctx, shard-1) {
			return fmt.Errorf("cannot finish bucket %s: %w", r.name(shard-1), err)
		}
	}
	return nil
}

// isFinished reports whether the bucket has certainly lost its mark, though the answer may have been lost. ctx may have
// ended. A bucket that was marked by this restore loses its mark only by this restore.
func (r *Restore) isFinished(ctx context.Context, shard uint32) bool {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), finishTimeout)
	defer cancel()
	stream, err := r.opener.find(ctx, shard)
	return err == nil && checkFinished(r.name(shard), stream.CachedInfo().Config) == nil
}

func (r *Restore) name(shard uint32) string {
	return r.opener.layout.bucket(shard)
}

func (r *Restore) disturbed(shard uint32) error {
	return fmt.Errorf("%w: another process has created bucket %s meanwhile", ErrNotEmpty, r.name(shard))
}

func (r *Restore) begin(ctx context.Context) error {
	if err := r.opener.checkServer(r.opener.layout.replicas); err != nil {
		return err
	}
	shards, err := r.leftovers(ctx)
	if err != nil {
		return err
	}
	for i := len(shards); i > 0; i-- {
		err := r.opener.api.DeleteStream(ctx, streamName(r.name(shards[i-1])))
		if err != nil && !errors.Is(err, jetstream.ErrStreamNotFound) {
			return fmt.Errorf("cannot remove bucket %s, which an unfinished restore has left: %w", r.name(shards[i-1]),
				err)
		}
	}
	for shard := range r.opener.layout.shards {
		if err := r.create(ctx, shard); err != nil {
			return err
		}
	}
	return nil
}

// leftovers returns the buckets of an interrupted restore in their order, and [ErrNotEmpty] if there is anything else.
func (r *Restore) leftovers(ctx context.Context) ([]uint32, error) {
	events := r.opener.layout.prefix.EventStream()
	if _, err := r.opener.api.Stream(ctx, events); err == nil {
		return nil,
			fmt.Errorf(
				"%w: there is the stream of events %s, which would take new events for old ones; "+
					"choose another prefix, or remove it with `nats stream rm %s`",
				ErrNotEmpty, events, events)
	} else if !errors.Is(err, jetstream.ErrStreamNotFound) {
		return nil, err
	}
	register := r.opener.layout.prefix.Register()
	if _, err := r.opener.api.Stream(ctx, streamName(register)); err == nil {
		return nil, fmt.Errorf("%w: there is the bucket %s, which says that the number of shards was changed; "+
			"restore into an empty data directory, another account or another prefix", ErrNotEmpty, register)
	} else if !errors.Is(err, jetstream.ErrStreamNotFound) && !errors.Is(err, ErrForbidden) {
		return nil, err
	}
	shards, err := r.opener.existing(ctx)
	if err != nil {
		return nil, err
	}
	slices.Sort(shards)
	for i, shard := range shards {
		stream, err := r.opener.find(ctx, shard)
		if err != nil {
			return nil, err
		}
		_, err = r.opener.layout.shardsOf(r.name(shard), stream.CachedInfo().Config)
		if isUnfinished := errors.Is(err, ErrUnfinished); i == 0 && (shard != 0 || !isUnfinished) || err != nil && !isUnfinished {
			return nil,
				fmt.Errorf(
					"%w: there is the bucket %s; restore into an empty data directory, another account or another "+
						"prefix", ErrNotEmpty, r.name(shard))
		}
	}
	return shards, nil
}

// create creates a bucket that has the mark of this restore.
func (r *Restore) create(ctx context.Context, shard uint32) error {
	config := r.opener.layout.config(shard)
	config.FirstSeq = r.after + 1
	config.Metadata[metaRestore] = r.id
	if err := r.createOnDisk(ctx, shard, config); err != nil {
		return err
	}
	stream, err := r.opener.find(ctx, shard)
	if err == nil && stream.CachedInfo().Config.Metadata[metaRestore] != r.id {
		err = r.disturbed(shard)
	}
	r.streams = append(r.streams, stream)
	return err
}

// createOnDisk creates a bucket. Shortly after its last stream was removed, a server removes the directory of all
// streams, beside the requests that follow (nats-server 2.15, stream.stop). A stream that is created then may miss its
// directory.
func (r *Restore) createOnDisk(ctx context.Context, shard uint32, config jetstream.StreamConfig) error {
	var backoff retry.Backoff
	for attempt := 1; ; attempt++ {
		err := r.opener.create(ctx, shard, config)
		if !jsapi.HasCode(err, jsapi.CodeNotCreated) || attempt == createAttempts {
			return err
		}
		if backoff.Wait(ctx) != nil {
			return err
		}
	}
}
