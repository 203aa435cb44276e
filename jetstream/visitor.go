package jetstream

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"strings"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

const (
	// systemUser is the user of a visitor's system account. Its password is known to nobody else.
	systemUser = "visitor"
	// leaderTimeout is how long a cluster's leader may take to answer; one that is there does so at once.
	leaderTimeout = 2 * time.Second
)

// Visitor is a server that is in a cluster for as long as it takes to ask about its members, or to remove
// one. That is for users of the system account, and a cluster made by [ServerConfig] has none, because it
// has no logins at all: so this server brings its own. It keeps nothing, and takes clients of this process
// only. It is safe for concurrent use.
type Visitor struct {
	server *server.Server
	// system is in the account of the cluster's own affairs, plain in that of the streams.
	system, plain *nats.Conn
	js            jetstream.JetStream
}

// Visit joins a cluster by the routes to its members, and returns when it has reached one of them. The name
// of the cluster is that of [ServerConfig]. Without a member that lets it in it is an [ErrConnect] when
// ctx ends.
func Visit(ctx context.Context, cluster string, routes []string, log *slog.Logger) (*Visitor, error) {
	urls, err := parseRoutes(routes)
	if err != nil {
		return nil, err
	}
	if cluster == "" {
		cluster = defaultCluster
	}
	opts := bystander("visitor-"+rand.Text(), cluster, urls)
	password := rand.Text()
	system := server.NewAccount(server.DEFAULT_SYSTEM_ACCOUNT)
	opts.Accounts = []*server.Account{system}
	opts.Users = []*server.User{{Username: systemUser, Password: password, Account: system}}
	opts.SystemAccount = system.Name
	v := &Visitor{}
	if err := v.start(ctx, opts, log); err != nil {
		v.Leave()
		return nil, err
	}
	if err := v.connect(password); err != nil {
		v.Leave()
		return nil, err
	}
	return v, nil
}

// bystander is the configuration of a server of a cluster that keeps nothing. It listens, because NATS
// waits with the routes until it does.
func bystander(name, cluster string, routes []*url.URL) *server.Options {
	return &server.Options{
		ServerName: name,
		Host:       "127.0.0.1",
		Port:       server.RANDOM_PORT,
		Cluster:    server.ClusterOpts{Name: cluster, Host: "127.0.0.1", Port: server.RANDOM_PORT, NoAdvertise: true},
		Routes:     routes,
		NoLog:      true,
		NoSigs:     true,
	}
}

func (v *Visitor) start(ctx context.Context, opts *server.Options, log *slog.Logger) (err error) {
	if v.server, err = server.NewServer(opts); err != nil {
		return fmt.Errorf("%w: %w", ErrConfig, err)
	}
	lines := newServerLogger(log)
	v.server.SetLoggerV2(lines, lines.debugs(), false, false)
	v.server.Start()
	if err := waitReady(v.server, lines.fatal); err != nil {
		return err
	}
	for v.server.NumRoutes() == 0 {
		if err := pause(ctx, quorumPoll); err != nil {
			return fmt.Errorf("%w: no member of the cluster %q lets anybody in at %s: %w",
				ErrConnect, opts.Cluster.Name, strings.Join(addressesOf(opts.Routes), ", "), err)
		}
	}
	return nil
}

func (v *Visitor) connect(password string) (err error) {
	inProcess := nats.InProcessServer(v.server)
	if v.system, err = nats.Connect("", inProcess, nats.UserInfo(systemUser, password)); err != nil {
		return fmt.Errorf("%w of this process: %w", ErrConnect, err)
	}
	if v.plain, err = nats.Connect("", inProcess); err != nil {
		return fmt.Errorf("%w of this process: %w", ErrConnect, err)
	}
	v.js, err = jetstream.New(v.plain)
	return err
}

// Leave ends the visit.
func (v *Visitor) Leave() {
	for _, nc := range []*nats.Conn{v.system, v.plain} {
		if nc != nil {
			nc.Close()
		}
	}
	if v.server != nil {
		v.server.Shutdown()
		v.server.WaitForShutdown()
	}
}

// askLeader sends a request of the system account, which the cluster's leader alone answers, again and
// again: an election takes seconds. It reads the answer into what it is given.
func (v *Visitor) askLeader(ctx context.Context, subject string, request []byte, into any) error {
	for {
		limited, cancel := context.WithTimeout(ctx, leaderTimeout)
		answer, err := v.system.RequestWithContext(limited, subject, request)
		cancel()
		switch {
		case err == nil:
			if err := json.Unmarshal(answer.Data, into); err != nil {
				return fmt.Errorf("the leader's answer cannot be read: %q: %w", answer.Data, err)
			}
			return nil
		case ctx.Err() == nil && (errors.Is(err, context.DeadlineExceeded) || errors.Is(err, nats.ErrNoResponders)):
			err = pause(ctx, quorumPoll)
		}
		if err != nil {
			return fmt.Errorf("%w: the cluster has no leader, for which a majority of all members has to be there: %w", ErrNoJetStream, err)
		}
	}
}
