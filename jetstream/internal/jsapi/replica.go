package jsapi

import (
	"crypto/sha256"
	"slices"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

const (
	// awayAfter is how long a member may be silent before it counts as away. Members answer every second.
	awayAfter = 5 * time.Second
	// lagTolerance is the lag of a replica, in records, that requests in flight explain.
	lagTolerance = 100
)

// IsAway reports whether a member counts as away: it has left, or the leader has received nothing from it
// for 5 seconds.
func IsAway(left bool, silent time.Duration) bool { return left || silent >= awayAfter }

// IsBehind reports whether a replica lags by more than what is in flight.
func IsBehind(r *jetstream.PeerInfo) bool { return !r.Current && r.Lag > lagTolerance }

// IsComplete reports whether a replicated stream has a leader and all its replicas, and all are current.
func IsComplete(info *jetstream.StreamInfo) bool {
	return info.Cluster != nil && info.Cluster.Leader != "" && HasAllReplicas(info, "")
}

// ListsAllReplicas reports whether a stream that has a leader has exactly the replicas that it is configured for,
// whatever their state, and none is added or removed at present.
func ListsAllReplicas(info *jetstream.StreamInfo) bool {
	return info.Cluster.Desired == nil && len(info.Cluster.Replicas) == info.Config.Replicas-1
}

// HasAllReplicas reports whether a stream that has a leader has exactly the replicas that it is configured
// for, and all of them are present and current. While replicas are added or removed it is false, because
// the majority may be one of a larger group. except is the peer id of a replica whose state does not
// matter, empty for none.
func HasAllReplicas(info *jetstream.StreamInfo, except string) bool {
	return ListsAllReplicas(info) &&
		!slices.ContainsFunc(info.Cluster.Replicas, func(r *jetstream.PeerInfo) bool {
			return (except == "" || r.Peer != except) && (IsAway(r.Offline, r.Active) || !r.Current)
		})
}

const (
	peerIDSize   = 8
	peerIDDigits = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
)

// PeerID returns the id of a member in Raft groups, which NATS derives from the name of the server.
func PeerID(name string) string {
	id := sha256.Sum256([]byte(name))
	for i := range peerIDSize {
		id[i] = peerIDDigits[int(id[i])%len(peerIDDigits)]
	}
	return string(id[:peerIDSize])
}
