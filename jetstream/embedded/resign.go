package embedded

import (
	"context"
	"log/slog"
	"time"

	"github.com/nats-io/nats-server/v2/server"

	"github.com/holdfast-io/holdfast/jetstream/internal/retry"
)

const (
	// resignTimeout bounds the wait for other leaders. NATS serves for one more second.
	resignTimeout = 2 * time.Second
	// leaderPoll is the interval between two looks for a new leader.
	leaderPoll = 10 * time.Millisecond
)

// resign transfers the leaderships as [Server.Resign] does.
func resign(ctx context.Context, s *server.Server, log *slog.Logger) {
	if !s.JetStreamIsClustered() {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, resignTimeout)
	defer cancel()
	// Lame duck mode is the only way to transfer the cluster's own leadership without a user of the system
	// account, and it keeps all leaderships from coming back. A second call does nothing.
	go s.LameDuckShutdown()
	for !hasResigned(s) {
		if retry.Pause(ctx, leaderPoll) != nil {
			log.Warn("some leaderships of this server have no new leader yet", "waited", resignTimeout)
			return
		}
	}
}

// hasResigned reports whether other servers lead the cluster and all streams with replicas elsewhere. No append
// waits for the leadership of a consumer.
func hasResigned(s *server.Server) bool {
	info, err := s.Jsz(&server.JSzOptions{Accounts: true, Streams: true})
	if err != nil || info.Disabled {
		return true // stopped already
	}
	isOwnOrNone := func(leader string) bool { return leader == "" || leader == s.Name() }
	if info.Meta != nil && isOwnOrNone(info.Meta.Leader) {
		return false
	}
	for _, account := range info.AccountDetails {
		for _, stream := range account.Streams {
			if stream.Cluster != nil && len(stream.Cluster.Replicas) > 0 && isOwnOrNone(stream.Cluster.Leader) {
				return false
			}
		}
	}
	return true
}
