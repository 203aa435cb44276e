package embedded

import (
	"context"
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

// Resign transfers the leaderships of the server, of streams, consumers and the cluster itself, and returns when
// other servers lead everything that is replicated, or after two seconds. Existing connections work for about
// another second; new ones are refused. Call [Server.Shutdown] next. Without a cluster it does nothing.
func (s *Server) Resign(ctx context.Context) {
	n := s.nats()
	if !n.JetStreamIsClustered() {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, resignTimeout)
	defer cancel()
	// Lame duck mode is the only way to transfer the cluster's own leadership without a user of the system
	// account, and it keeps all leaderships from coming back.
	n.resigned.Do(func() { go n.LameDuckShutdown() })
	for !s.isTransferred() {
		if retry.Pause(ctx, leaderPoll) != nil {
			s.log.Warn("some leaderships of this server have no new leader yet", "waited", resignTimeout)
			return
		}
	}
}

// isTransferred reports whether other servers lead the cluster and all streams with replicas elsewhere. No append
// waits for the leadership of a consumer.
func (s *Server) isTransferred() bool {
	info, err := s.nats().Jsz(&server.JSzOptions{Accounts: true, Streams: true})
	if err != nil || info.Disabled {
		return true // stopped already
	}
	if info.Meta != nil && s.isOwnOrNone(info.Meta.Leader) {
		return false
	}
	for _, account := range info.AccountDetails {
		for _, stream := range account.Streams {
			if stream.Cluster != nil && len(stream.Cluster.Replicas) > 0 && s.isOwnOrNone(stream.Cluster.Leader) {
				return false
			}
		}
	}
	return true
}

func (s *Server) isOwnOrNone(leader string) bool { return leader == "" || leader == s.nats().Name() }
