package jetstream

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/holdfast-io/holdfast/jetstream/internal/retry"
)

const (
	// settleTime is for how long a shard has had its owner before its bucket's leadership follows. A shard
	// that follows the leadership has moved by then, so that the two do not chase one another.
	settleTime = 10 * time.Second
	// followInterval is how often it is looked who leads what.
	followInterval = time.Second
	// leadTimeout bounds one move: a planned change of leader takes 25-65 ms.
	leadTimeout = 2 * time.Second
	// cedeTimeout bounds one move that a hand-over waits for; not to wait would cost as much.
	cedeTimeout = 300 * time.Millisecond
	// leadPoll is how long a new leader may be there unnoticed.
	leadPoll = 10 * time.Millisecond
)

// errUnsettled says that a change of leader could be felt now.
var errUnsettled = errors.New("the bucket's replicas are not all current")

// LocalStreams is what the NATS server in this process knows of the streams of the deployment's account. Its
// methods must not block, and are called concurrently.
type LocalStreams interface {
	// Server returns the name of the server.
	Server() string
	// IsClustered reports whether the server is a member of a cluster.
	IsClustered() bool
	// Leads reports whether the server leads the stream.
	Leads(stream string) bool
	// Leader returns the name of the server that leads the stream, empty for none.
	Leader(stream string) string
}

// Leadership moves the leadership of a deployment's buckets to and from the server in this process. An append
// is fastest where its bucket is led, and the failure of one host costs owner and leader at the same time
// instead of one after the other. Correctness does not depend on it. It is safe for concurrent use; nil leads
// nothing.
type Leadership struct {
	local      LocalStreams
	deployment *Deployment
}

// NewLeadership returns the leadership of the deployment's buckets. The deployment has to be opened with a
// connection to the server of local.
func NewLeadership(d *Deployment, local LocalStreams) *Leadership {
	return &Leadership{local: local, deployment: d}
}

// Leads tells whether the server leads the shard's bucket, as far as it knows. It asks nobody.
func (l *Leadership) Leads(shard uint32) bool {
	if l == nil {
		return false
	}
	return !l.local.IsClustered() || l.local.Leads(l.stream(shard))
}

// Lead moves the leadership of the shard's bucket here, and returns when it has come. Appends of this
// process to the bucket wait meanwhile. It leaves it where it is, with an error, unless all replicas are
// current.
func (l *Leadership) Lead(ctx context.Context, shard uint32) error {
	if l.Leads(shard) {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, leadTimeout)
	defer cancel()
	if err := l.deployment.turns[shard].take(ctx); err != nil {
		return fmt.Errorf("lead %s: an append does not come to an end: %w", l.stream(shard), err)
	}
	defer l.deployment.turns[shard].pass()
	if err := l.isSettled(ctx, shard); err != nil {
		return fmt.Errorf("lead %s: %w", l.stream(shard), err)
	}
	return l.move(ctx, shard, l.local.Server(), func() bool { return l.Leads(shard) })
}

// Transfer moves the leadership of the shard's bucket from here to the server of that name, and returns when
// another server leads. Whoever appends next is spared the change, in which an append is lost without a
// word. If the bucket is not led here, or alone, it does nothing. It leaves the leadership where it is, with
// an error, if that server has no current replica; the others do not matter, since it is about to go.
func (l *Leadership) Transfer(ctx context.Context, shard uint32, to string) error {
	if l == nil || !l.local.IsClustered() || !l.Leads(shard) {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, cedeTimeout)
	defer cancel()
	if err := l.isCurrentAt(ctx, shard, to); err != nil {
		return fmt.Errorf("cede %s: %w", l.stream(shard), err)
	}
	return l.move(ctx, shard, to, func() bool { return l.isLedElsewhere(shard) })
}

// move lets the leader step down in favour of the server of that name, and returns when done is so.
func (l *Leadership) move(ctx context.Context, shard uint32, to string, done func() bool) error {
	var stepDown struct {
		Placement struct {
			Preferred string `json:"preferred"`
		} `json:"placement"`
	}
	stepDown.Placement.Preferred = to
	request, err := json.Marshal(stepDown)
	if err != nil {
		return err
	}
	subject := jetstream.DefaultAPIPrefix + "STREAM.LEADER.STEPDOWN." + l.stream(shard)
	if _, err := l.deployment.nc.RequestWithContext(ctx, subject, request); err != nil {
		return fmt.Errorf("move the leadership of %s to %s: %w", l.stream(shard), to, err)
	}
	for !done() {
		if err := retry.Pause(ctx, leadPoll); err != nil {
			return fmt.Errorf("move the leadership of %s to %s: it is with %q: %w", l.stream(shard), to, l.local.Leader(l.stream(shard)), err)
		}
	}
	return nil
}

// isLedElsewhere reports whether the server in this process knows of another server that leads the bucket.
func (l *Leadership) isLedElsewhere(shard uint32) bool {
	leader := l.local.Leader(l.stream(shard))
	return leader != "" && leader != l.local.Server()
}

// isSettled returns an error unless a change of the leader to this server would hardly be noticed.
func (l *Leadership) isSettled(ctx context.Context, shard uint32) error {
	replicas, err := l.replicas(ctx, shard)
	if err != nil {
		return err
	}
	for _, r := range replicas {
		if !isCurrent(r) {
			return fmt.Errorf("%w: %s", errUnsettled, r.Name)
		}
	}
	if find(replicas, l.local.Server()) == nil {
		return fmt.Errorf("%w: none is here", errUnsettled)
	}
	return nil
}

// isCurrentAt returns an error unless the server of that name has what this one has stored. It does not
// wait for that: under load it would make one long pause of two short ones.
func (l *Leadership) isCurrentAt(ctx context.Context, shard uint32, name string) error {
	replicas, err := l.replicas(ctx, shard)
	if err != nil {
		return err
	}
	if r := find(replicas, name); r == nil || !isCurrent(r) {
		return fmt.Errorf("%w: none at %s", errUnsettled, name)
	}
	return nil
}

// replicas are those of the shard's bucket besides the leader's.
func (l *Leadership) replicas(ctx context.Context, shard uint32) ([]*jetstream.PeerInfo, error) {
	stream, err := l.deployment.js.Stream(ctx, l.stream(shard))
	if err != nil {
		return nil, err
	}
	cluster := stream.CachedInfo().Cluster
	if cluster == nil {
		return nil, errUnsettled
	}
	return cluster.Replicas, nil
}

func find(replicas []*jetstream.PeerInfo, name string) *jetstream.PeerInfo {
	i := slices.IndexFunc(replicas, func(r *jetstream.PeerInfo) bool { return r.Name == name })
	if i < 0 {
		return nil
	}
	return replicas[i]
}

func isCurrent(r *jetstream.PeerInfo) bool { return r.Current && !r.Offline }

// Follow lets the leadership of buckets follow their shards until ctx ends: where owns says for ten
// seconds on end that the shard is owned here, its bucket is to be led here as well. One moves at a time,
// and none while a replica is behind.
func (l *Leadership) Follow(ctx context.Context, owns func(shard uint32) bool) {
	if l == nil {
		return
	}
	since := make([]time.Time, l.deployment.Shards())
	for retry.Pause(ctx, followInterval) == nil {
		for shard := range l.deployment.Shards() {
			if !owns(shard) || l.Leads(shard) || since[shard].IsZero() {
				since[shard] = time.Now()
				continue
			}
			if time.Since(since[shard]) < settleTime {
				continue
			}
			since[shard] = time.Now()
			if err := l.Lead(ctx, shard); err != nil {
				l.deployment.log.Debug("the leadership of a bucket stays elsewhere", "shard", shard, "error", err)
			}
		}
	}
}

func (l *Leadership) stream(shard uint32) string {
	return streamName(l.deployment.prefix.Bucket(shard))
}
