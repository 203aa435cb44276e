package embedded

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/nats-io/nats-server/v2/server"

	"github.com/holdfast-io/holdfast/jetstream/internal/retry"
)

// quorumPoll is the interval between two looks for a quorum.
const quorumPoll = 50 * time.Millisecond

// awaitQuorum waits as [Server.AwaitQuorum] does.
func awaitQuorum(ctx context.Context, n *instance, log *slog.Logger) error {
	began := time.Now()
	for reminder := retry.RemindSince(began); !hasQuorum(n.Server); {
		select {
		case line := <-n.lines.duplicate:
			return fmt.Errorf("%w: another member of the cluster is called %s; give each its own --name, and keep it: %s",
				ErrConfig, n.Name(), line)
		default:
		}
		if reminder.IsDue() {
			log.Warn("the cluster has no quorum, waiting for more members (at its first start, for all of them): check that they run, have the same routes and can connect to one another",
				"sees", members(n.Server), "needs", metaGroup(n.Server).QuorumNeeded, "routes", addressesOf(n.opts.Routes), "since", time.Since(began).Round(time.Second))
		}
		if err := retry.Pause(ctx, quorumPoll); err != nil {
			return fmt.Errorf("%w: it sees %v: %w", ErrNoQuorum, members(n.Server), err)
		}
	}
	stop(n.helper)
	return nil
}

// hasQuorum reports whether the server knows a leader of its cluster and is current, or has no cluster.
func hasQuorum(s *server.Server) bool {
	return !s.JetStreamIsClustered() || metaGroup(s).Leader != "" && s.JetStreamIsCurrent()
}

// metaGroup returns what the server knows of the Raft group of its cluster.
func metaGroup(s *server.Server) server.MetaClusterInfo {
	info, err := s.Jsz(nil)
	if err != nil || info.Meta == nil {
		return server.MetaClusterInfo{}
	}
	return *info.Meta
}
