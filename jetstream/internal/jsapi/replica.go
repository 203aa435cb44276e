package jsapi

import (
	"crypto/sha256"
	"slices"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// awayAfter is how long a member may be silent before it counts as away. Members answer every second.
const awayAfter = 5 * time.Second

// IsAway reports whether a member counts as away: it has left, or the leader has not heard it for 5
// seconds.
func IsAway(left bool, silent time.Duration) bool { return left || silent >= awayAfter }

// IsComplete reports whether a replicated stream has a leader and all its replicas, and all are current.
func IsComplete(info *jetstream.StreamInfo) bool {
	return info.Cluster != nil && info.Cluster.Leader != "" && HasAllReplicas(info, "")
}

// HasAllReplicas reports whether a stream that has a leader has exactly the replicas that it is configured
// for, and all of them are present and current. While replicas are added or removed it is false, because
// the majority may be one of a larger group. except is the peer id of a replica whose state does not
// matter, empty for none.
func HasAllReplicas(info *jetstream.StreamInfo, except string) bool {
	return info.Cluster.Desired == nil && len(info.Cluster.Replicas) == info.Config.Replicas-1 &&
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
