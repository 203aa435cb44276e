package jetstream

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/holdfast-io/holdfast/jetstream/internal/retry"
)

const (
	// settleTime is how long a shard must have its owner before its bucket's leadership follows. A shard follows a
	// leadership that stays elsewhere much later, so the two do not move in turns.
	settleTime = 5 * time.Second
	// followInterval is the interval at which leaderships are checked.
	followInterval = time.Second
	// leadTimeout bounds one move: a planned change of leader takes 25-65 ms.
	leadTimeout = 2 * time.Second
	// transferTimeout bounds a move that a handover of a shard waits for. Without the wait, the first append
	// of the successor would wait for as long.
	transferTimeout = 300 * time.Millisecond
	// leadPoll is the interval between two looks for a new leader.
	leadPoll = 10 * time.Millisecond
)

// errNotCurrent says that a change of leader would delay appends now.
var errNotCurrent = errors.New("the bucket's replicas are not all current")

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

// Leads reports whether the server leads the shard's bucket, as far as it knows. It sends no request.
func (l *Leadership) Leads(shard uint32) bool {
	if l == nil {
		return false
	}
	return !l.local.IsClustered() || l.local.Leads(l.stream(shard))
}

// Lead moves the leadership of the shard's bucket to the server in this process, and returns when that leads.
// Appends of this process to the bucket wait meanwhile. It returns an error and moves nothing if a replica is
// not current.
func (l *Leadership) Lead(ctx context.Context, shard uint32) error {
	if l.Leads(shard) {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, leadTimeout)
	defer cancel()
	if err := l.deployment.appendLocks[shard].lock(ctx); err != nil {
		return fmt.Errorf("lead %s: an append does not end: %w", l.stream(shard), err)
	}
	defer l.deployment.appendLocks[shard].unlock()
	if err := l.checkReplicas(ctx, shard, l.local.Server(), true); err != nil {
		return fmt.Errorf("lead %s: %w", l.stream(shard), err)
	}
	return l.move(ctx, shard, l.local.Server(), func() bool { return l.Leads(shard) })
}

// Transfer moves the leadership of the shard's bucket to the server of that name, and returns when another
// server leads. The next owner's first append then needs no change of leader, in which an append would get no
// answer. It does nothing if the server in this process does not lead the bucket, or is not in a cluster. It
// returns an error and moves nothing if the target has no current replica. The other replicas do not matter,
// because this server is about to stop.
func (l *Leadership) Transfer(ctx context.Context, shard uint32, to string) error {
	if l == nil || !l.local.IsClustered() || !l.Leads(shard) {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, transferTimeout)
	defer cancel()
	if err := l.checkReplicas(ctx, shard, to, false); err != nil {
		return fmt.Errorf("transfer %s: %w", l.stream(shard), err)
	}
	return l.move(ctx, shard, to, func() bool { return l.isLedElsewhere(shard) })
}

// move asks the leader to step down in favour of the server of that name, and returns when done reports true.
func (l *Leadership) move(ctx context.Context, shard uint32, to string, done func() bool) error {
	stepDown := map[string]any{"placement": map[string]string{"preferred": to}}
	request, _ := json.Marshal(stepDown) // strings: it cannot fail
	subject := jetstream.DefaultAPIPrefix + "STREAM.LEADER.STEPDOWN." + l.stream(shard)
	if _, err := l.deployment.api.Conn.RequestWithContext(ctx, subject, request); err != nil {
		return fmt.Errorf("move the leadership of %s to %s: %w", l.stream(shard), to, err)
	}
	for !done() {
		if err := retry.Pause(ctx, leadPoll); err != nil {
			return fmt.Errorf("move the leadership of %s to %s: it is with %q: %w", l.stream(shard), to,
				l.local.Leader(l.stream(shard)), err)
		}
	}
	return nil
}

// isLedElsewhere reports whether the server in this process knows of another server that leads the bucket.
func (l *Leadership) isLedElsewhere(shard uint32) bool {
	leader := l.local.Leader(l.stream(shard))
	return leader != "" && leader != l.local.Server()
}

// checkReplicas returns an error unless the server of that name has a current replica of the shard's bucket besides
// the leader's, and with all also unless every other one is current. It does not wait for one: under load that would
// make one long pause of two short ones.
func (l *Leadership) checkReplicas(ctx context.Context, shard uint32, name string, all bool) error {
	stream, err := l.deployment.api.JS.Stream(ctx, l.stream(shard))
	if err != nil {
		return err
	}
	cluster := stream.CachedInfo().Cluster
	if cluster == nil {
		return errNotCurrent
	}
	found := false
	for _, r := range cluster.Replicas {
		found = found || r.Name == name
		if (all || r.Name == name) && (r.Offline || !r.Current) {
			return fmt.Errorf("%w: %s", errNotCurrent, r.Name)
		}
	}
	if !found {
		return fmt.Errorf("%w: %s has none", errNotCurrent, name)
	}
	return nil
}

// Follow moves the leadership of buckets to the owner of their shards until ctx ends: if owns reports for five
// seconds that this node owns a shard, the server in this process becomes the leader of its bucket. One
// leadership moves at a time, and none while a replica is behind: that is tried again each second.
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
			if err := l.Lead(ctx, shard); err != nil {
				l.deployment.api.Config.Log.Debug("the leadership of a bucket stays where it is", "shard", shard,
					"error", err)
			}
		}
	}
}

func (l *Leadership) stream(shard uint32) string {
	return streamName(l.deployment.layout.bucket(shard))
}
