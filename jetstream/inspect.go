package jetstream

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/holdfast-io/holdfast/jetstream/internal/jsapi"
	"github.com/holdfast-io/holdfast/messages"
)

// inspectTimeout bounds one request of an inspection. A server without a leader answers after two seconds.
const inspectTimeout = 3 * time.Second

// errLeaderless says that the answer came from a server that does not lead the bucket, because none does.
var errLeaderless = errors.New("no server leads it at present")

// Inspection is what JetStream reports of the bucket of a shard.
type Inspection struct {
	Shard  uint32
	Bucket string // HOLDFAST_3
	// Err is why the bucket cannot be used, as of [OpenDeployment]: [ErrBucketLost], [ErrBucketSettings] and the like.
	// Silent is why JetStream has not answered, as when a majority of its servers is away. The fields below are
	// zero then.
	Err, Silent error
	// Replicas is how many servers have to store the bucket.
	Replicas int
	// Servers are those that store the bucket, its leader first; empty without a cluster.
	Servers []string
	// Incomplete: in a cluster the servers that store the bucket are not as many as have to, or are being changed.
	Incomplete bool
	// Away are the servers with a replica that have left, that have sent the leader nothing for 5 seconds, or nothing
	// since it was elected. Behind are those whose replica lags.
	Away, Behind []string
}

// Inspect asks JetStream for the bucket of each shard, from the first on, until ctx ends, and changes nothing. It
// returns an [ErrForbidden] if the user may not look at a bucket, and an [ErrNoJetStream] if there is no JetStream. In
// an account that imports the journals it asks through the import.
func Inspect(ctx context.Context, nc *nats.Conn, prefix messages.Prefix, shards messages.Shards) ([]Inspection,
	error) {
	all, err := inspectAll(ctx, nc, jetstream.DefaultAPIPrefix, prefix, shards)
	if err != nil {
		if imported, _ := inspectAll(ctx, nc, prefix.Journals(), prefix, shards); len(imported) > 0 && imported[0].Silent == nil {
			return imported, nil
		}
	}
	return all, err
}

func inspectAll(ctx context.Context, nc *nats.Conn, api string, prefix messages.Prefix,
	shards messages.Shards) ([]Inspection, error) {
	js, err := jetstream.NewWithAPIPrefix(nc, api)
	if err != nil {
		return nil, err
	}
	l := layout{prefix: prefix, generation: shards.Generation, shards: shards.Count}
	var all []Inspection
	for shard := range shards.Count {
		i := inspect(ctx, nc, js, l, shard)
		if ctx.Err() != nil && i.Silent != nil {
			break
		}
		if errors.Is(i.Err, ErrForbidden) || errors.Is(i.Err, ErrNoJetStream) {
			return nil, i.Err
		}
		if errors.Is(i.Silent, nats.ErrNoResponders) {
			return nil, fmt.Errorf("%w: %w", ErrNoJetStream, i.Silent)
		}
		all = append(all, i)
	}
	return all, nil
}

func inspect(ctx context.Context, nc *nats.Conn, js jetstream.JetStream, l layout, shard uint32) Inspection {
	i := Inspection{Shard: shard, Bucket: l.bucket(shard)}
	info, err := streamInfo(ctx, nc, js, streamName(i.Bucket))
	permanent := jsapi.PermanentError(nc, err)
	switch {
	case permanent != nil:
		i.Err = fmt.Errorf("%s: %w", i.Bucket, permanent)
		return i
	case err != nil:
		i.Silent = err
		return i
	}
	if info.Cluster != nil && info.Cluster.Leader == "" {
		i.Silent = errLeaderless
		return i
	}
	l.replicas = info.Config.Replicas
	if i.Err = l.check(shard, info.Config); i.Err == nil {
		i.report(info)
	}
	return i
}

// streamInfo returns the present state of a stream.
func streamInfo(ctx context.Context, nc *nats.Conn, js jetstream.JetStream, name string) (info *jetstream.StreamInfo,
	err error) {
	ctx, cancel := context.WithTimeout(ctx, inspectTimeout)
	defer cancel()
	err = jsapi.Request(nc, "STREAM.INFO."+name, func() error {
		stream, err := js.Stream(ctx, name)
		if err == nil {
			info = stream.CachedInfo()
		}
		return err
	})
	return info, err
}

// report takes what the leader says of the replicas.
func (i *Inspection) report(info *jetstream.StreamInfo) {
	i.Replicas = info.Config.Replicas
	if info.Cluster == nil {
		return
	}
	i.Servers, i.Incomplete = []string{info.Cluster.Leader}, !jsapi.ListsAllReplicas(info)
	for _, r := range info.Cluster.Replicas {
		i.Servers = append(i.Servers, r.Name)
		switch {
		case jsapi.IsAway(r.Offline, r.Active), !r.Current && r.Active == 0:
			i.Away = append(i.Away, r.Name)
		case jsapi.IsBehind(r):
			i.Behind = append(i.Behind, r.Name)
		}
	}
}
