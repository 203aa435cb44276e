package embedded

import (
	"context"
	"fmt"
	"time"

	"github.com/nats-io/nats-server/v2/server"

	"github.com/holdfast-io/holdfast/jetstream/internal/retry"
)

// quorumPoll is the interval between two looks for a quorum.
const quorumPoll = 50 * time.Millisecond

// AwaitQuorum returns when the cluster has a leader that this server knows, and at once without a cluster. It
// logs after 10 seconds what it waits for, and returns an [ErrNoQuorum] when ctx ends. It returns an [ErrConfig]
// if another member has the same name.
func (s *Server) AwaitQuorum(ctx context.Context) error {
	n, log, began := s.runner.present(), s.runner.cfg.Log, time.Now()
	for reminder := retry.RemindSince(began); !hasQuorum(n.Server) || !isMember(n.Server); {
		select {
		case line := <-n.lines.duplicate:
			return fmt.Errorf(
				"%w: another member of the cluster is called %s; give each its own --name, and keep it: %s",
				ErrConfig, n.Name(), line)
		default:
		}
		switch isDue := reminder.IsDue(); {
		case isDue && hasQuorum(n.Server):
			log.Warn(
				"the cluster does not count this server as a member, waiting: a member that was removed may return "+
					"five minutes later, without its old data",
				"name", n.Name(), "sees", members(n.Server), "since", time.Since(began).Round(time.Second))
		case isDue:
			log.Warn(
				"the cluster has no quorum, waiting for more members (at its first start, for all of them): check "+
					"that they run, have the same routes and can connect to one another",
				"sees", members(n.Server), "needs", metaGroup(n.Server).QuorumNeeded, "routes",
				addressesOf(n.opts.Routes), "since", time.Since(began).Round(time.Second))
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

// metaGroupName is the name of the Raft group of all members.
const metaGroupName = "_meta_"

// isMember reports whether the cluster counts the server, as far as it knows. A server that was removed
// receives the messages of the cluster all the same, and sees as many others as that has members.
func isMember(s *server.Server) bool {
	groups := s.Raftz(&server.RaftzOptions{GroupFilter: metaGroupName})
	if groups == nil {
		return true
	}
	for _, account := range *groups {
		if group, ok := account[metaGroupName]; ok && len(group.Peers) >= group.Size {
			return false
		}
	}
	return true
}

// metaGroup returns what the server knows of the Raft group of its cluster.
func metaGroup(s *server.Server) server.MetaClusterInfo {
	info, err := s.Jsz(nil)
	if err != nil || info.Meta == nil {
		return server.MetaClusterInfo{}
	}
	return *info.Meta
}
