package embedded

import (
	"context"
	"fmt"
	"net/url"
	"slices"
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
	began := time.Now()
	for reminder := retry.RemindSince(began); !s.hasQuorum(); {
		select {
		case line := <-s.nats().lines.duplicate:
			return fmt.Errorf("%w: another member of the cluster is called %s; give each its own --name, and keep it: %s",
				ErrConfig, s.nats().Name(), line)
		default:
		}
		if reminder.IsDue() {
			s.warnMissing(began)
		}
		if err := retry.Pause(ctx, quorumPoll); err != nil {
			return fmt.Errorf("%w: it sees %v: %w", ErrNoQuorum, s.Members(), err)
		}
	}
	s.nats().stopHelper()
	return nil
}

func (s *Server) hasQuorum() bool {
	return !s.nats().JetStreamIsClustered() || s.metaLeader() != "" && s.nats().JetStreamIsCurrent()
}

// metaLeader returns the name of the server that leads the cluster, empty for none.
func (s *Server) metaLeader() string {
	info, err := s.nats().Jsz(nil)
	if err != nil || info.Meta == nil {
		return ""
	}
	return info.Meta.Leader
}

func (s *Server) warnMissing(began time.Time) {
	needed := 0
	if info, err := s.nats().Jsz(nil); err == nil && info.Meta != nil {
		needed = info.Meta.QuorumNeeded
	}
	s.log.Warn("the cluster has no quorum, waiting for more members (at its first start, for all of them): check that they run, have the same routes and can connect to one another",
		"sees", s.Members(), "needs", needed, "routes", addressesOf(s.nats().opts.Routes), "since", time.Since(began).Round(time.Second))
}

// addressesOf are the addresses of routes that were asked for.
func addressesOf(routes []*url.URL) []string {
	var addresses []string
	for _, route := range routes {
		addresses = append(addresses, route.Host) // the rest may contain a password
	}
	return addresses
}

// Members returns the names of the servers of the cluster to which this one has a connection, and its
// own, in order.
func (s *Server) Members() []string {
	names := append(neighbours(s.nats().Server), s.nats().Name())
	slices.Sort(names)
	return slices.Compact(names)
}

// neighbours are the names of the servers to which one has a connection, some several times.
func neighbours(s *server.Server) []string {
	var names []string
	if routes, err := s.Routez(&server.RoutezOptions{}); err == nil {
		for _, route := range routes.Routes {
			names = append(names, route.RemoteName)
		}
	}
	return names
}
