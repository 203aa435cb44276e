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

// AwaitQuorum returns when enough members of the cluster are there to elect a leader, and this one has
// heard of it; at once if the server is alone. It waits until ctx ends, and says after 10 seconds what
// for. It is an [ErrConfig] if another member has the name of this one.
func (s *Server) AwaitQuorum(ctx context.Context) error {
	began := time.Now()
	for reminder := retry.RemindSince(began); !s.hasQuorum(); {
		select {
		case rival := <-s.nats().lines.rival:
			return fmt.Errorf("%w: another member of the cluster is called %s; give each its own --name, and keep it: %s",
				ErrConfig, s.nats().Name(), rival)
		default:
		}
		if reminder.IsDue() {
			s.sayMissing(began)
		}
		if err := retry.Pause(ctx, quorumPoll); err != nil {
			return fmt.Errorf("%w: it sees %v: %w", ErrNoQuorum, s.Members(), err)
		}
	}
	s.nats().endCompany()
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

func (s *Server) sayMissing(began time.Time) {
	needed := 0
	if info, err := s.nats().Jsz(nil); err == nil && info.Meta != nil {
		needed = info.Meta.QuorumNeeded
	}
	s.log.Warn("the cluster has no quorum, waiting for more members (the first time, for all of them): are they started, with the same routes, and do they reach one another?",
		"sees", s.Members(), "needs", needed, "routes", addressesOf(s.nats().opts.Routes), "since", time.Since(began).Round(time.Second))
}

// addressesOf are the addresses of routes that were asked for.
func addressesOf(routes []*url.URL) []string {
	var addresses []string
	for _, route := range routes {
		addresses = append(addresses, route.Host) // the rest may hold a password
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
