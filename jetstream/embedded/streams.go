package embedded

import (
	"fmt"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"

	"github.com/holdfast-io/holdfast/jetstream/natsconn"
)

// Streams is what the server knows of the streams of one account. It answers from memory, without a request.
// It is safe for concurrent use.
type Streams struct {
	runner  *runner
	account string
}

// Streams returns the streams of the account of a connection, which has to be one of [Server.Connect].
func (s *Server) Streams(nc *nats.Conn) (*Streams, error) {
	id, err := nc.GetClientID()
	if err != nil {
		return nil, fmt.Errorf("%w: %w", natsconn.ErrConnect, err)
	}
	n := s.runner.present()
	client := n.GetClient(id)
	if client == nil || client.Account() == nil {
		return nil, fmt.Errorf("%w: %s has no connection %d", natsconn.ErrConnect, n.Name(), id)
	}
	account := client.Account().GetName()
	s.runner.account.Store(&account)
	return &Streams{runner: s.runner, account: account}, nil
}

// Server returns the name of the server.
func (s *Streams) Server() string { return s.runner.present().Name() }

// IsClustered reports whether the server is a member of a cluster.
func (s *Streams) IsClustered() bool { return s.runner.present().JetStreamIsClustered() }

// Leads reports whether the server leads the stream.
func (s *Streams) Leads(stream string) bool {
	return s.runner.present().JetStreamIsStreamLeader(s.account, stream)
}

// Leader returns the name of the server that leads the stream; empty for none, or if the server keeps no
// replica of it.
func (s *Streams) Leader(stream string) string {
	if c := s.clusters()[stream]; c != nil {
		return c.Leader
	}
	return ""
}

// Behind returns how many replicas are away or behind, of each stream that the server leads: only the leader knows.
func (s *Streams) Behind() map[string]int {
	behind := make(map[string]int)
	for stream, c := range s.clusters() {
		if c == nil || c.Leader != s.Server() {
			continue
		}
		behind[stream] = 0
		for _, replica := range c.Replicas {
			if replica.Offline || !replica.Current {
				behind[stream]++
			}
		}
	}
	return behind
}

// clusters returns what the server knows of the replicas of each stream, nil for one without any.
func (s *Streams) clusters() map[string]*server.ClusterInfo {
	info, err := s.runner.present().Jsz(&server.JSzOptions{Account: s.account, Streams: true})
	if err != nil {
		return nil
	}
	all := make(map[string]*server.ClusterInfo)
	for _, account := range info.AccountDetails {
		for _, detail := range account.Streams {
			all[detail.Name] = detail.Cluster
		}
	}
	return all
}
