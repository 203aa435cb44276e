package embedded

import (
	"context"
	"time"

	"github.com/nats-io/nats-server/v2/server"

	"github.com/holdfast-io/holdfast/jetstream/internal/retry"
)

const (
	// resignTimeout bounds the wait for others to lead: NATS itself keeps up what it has resigned from for
	// one second.
	resignTimeout = 2 * time.Second
	// leaderPoll is the interval between two looks for a new leader.
	leaderPoll = 10 * time.Millisecond
)

// Resign gives away what the server leads, streams, consumers and the cluster itself, and returns when
// others lead all that is replicated, or after two seconds. Connections that are there go on for about a
// second; new ones are not taken. What comes next is [Server.Shutdown]. Alone, it does nothing.
func (s *Server) Resign(ctx context.Context) {
	n := s.nats()
	if !n.JetStreamIsClustered() {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, resignTimeout)
	defer cancel()
	// A lame duck is the one way to give the cluster's own leadership away without a login of the system's,
	// and it keeps all leaderships from coming back.
	n.resigned.Do(func() { go n.LameDuckShutdown() })
	for !s.isSucceeded() {
		if retry.Pause(ctx, leaderPoll) != nil {
			s.log.Warn("what this server led in the cluster has no new leader yet", "waited", resignTimeout)
			return
		}
	}
}

// isSucceeded tells whether others lead the cluster and all streams that have replicas elsewhere. Those of
// consumers are less than an append waits for.
func (s *Server) isSucceeded() bool {
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
