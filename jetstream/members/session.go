package members

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/holdfast-io/holdfast/jetstream/internal/retry"
)

const (
	// leaderTimeout is how long a cluster's leader may take to answer; one that is there does so at once.
	leaderTimeout = 2 * time.Second
	// leaderRetry is the pause before a request is sent to the leader again.
	leaderRetry = 50 * time.Millisecond
)

// Link reaches a cluster for an admin session.
type Link interface {
	// SystemConn returns a connection to the system account of the cluster.
	SystemConn() *nats.Conn
	// StreamsConn returns a connection to the account of the deployment's streams.
	StreamsConn() *nats.Conn
	// Neighbours returns the names of the members that the link is connected to, in order.
	Neighbours() []string
}

// Session is an admin session with a cluster. It is safe for concurrent use.
type Session struct {
	link Link
	js   jetstream.JetStream
}

// NewSession returns a session that ends with its link.
func NewSession(link Link) (*Session, error) {
	js, err := jetstream.New(link.StreamsConn())
	if err != nil {
		return nil, err
	}
	return &Session{link: link, js: js}, nil
}

// askLeader sends a request of the system account, which only the cluster's leader answers, and decodes the
// answer into result. It repeats the request until ctx ends, because an election takes seconds.
func (s *Session) askLeader(ctx context.Context, subject string, request []byte, result any) error {
	for {
		limited, cancel := context.WithTimeout(ctx, leaderTimeout)
		answer, err := s.link.SystemConn().RequestWithContext(limited, subject, request)
		cancel()
		switch {
		case err == nil:
			if err := json.Unmarshal(answer.Data, result); err != nil {
				return fmt.Errorf("the leader's answer cannot be read: %q: %w", answer.Data, err)
			}
			return nil
		case ctx.Err() == nil && (errors.Is(err, context.DeadlineExceeded) || errors.Is(err, nats.ErrNoResponders)):
			err = retry.Pause(ctx, leaderRetry)
		}
		if err != nil {
			return fmt.Errorf("%w: a majority of all members has to be reachable: %w", ErrNoLeader, err)
		}
	}
}
