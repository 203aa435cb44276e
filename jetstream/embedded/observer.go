package embedded

import (
	"cmp"
	"context"
	"crypto/rand"
	"fmt"
	"log/slog"
	"strings"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"

	"github.com/holdfast-io/holdfast/jetstream/internal/retry"
	"github.com/holdfast-io/holdfast/jetstream/natsconn"
)

// systemUser is the user of an observer's system account. Its password stays within the observer.
const systemUser = "observer"

// Observer is a server without storage that joins a cluster to ask about its members, or to remove one. Such
// requests need a user of the system account. A cluster of [Config] has no users at all, so the
// observer brings its own. It takes clients of this process only. It is safe for concurrent use.
type Observer struct {
	server          *server.Server
	system, streams *nats.Conn
}

// Observe joins a cluster by the routes to its members, and returns when it has reached one of them. cluster
// is the cluster's name, empty for the default of [Config]. files are those of a member, for a cluster whose members
// verify one another. It returns an [ErrConnect] if no member has let it in when ctx ends.
func Observe(ctx context.Context, cluster string, routes []string, files TLSFiles, log *slog.Logger) (*Observer,
	error) {
	urls, err := parseRoutes(routes)
	if err != nil {
		return nil, err
	}
	opts := storelessOptions("observer-"+rand.Text(), cmp.Or(cluster, defaultCluster), urls...)
	if opts.Cluster.TLSConfig, err = files.mutual(); err != nil {
		return nil, err
	}
	password := rand.Text()
	system := server.NewAccount(server.DEFAULT_SYSTEM_ACCOUNT)
	opts.Accounts = []*server.Account{system}
	opts.Users = []*server.User{{Username: systemUser, Password: password, Account: system}}
	opts.SystemAccount = system.Name
	o := &Observer{}
	err = o.start(ctx, opts, log)
	if err == nil {
		err = o.connect(password)
	}
	if err != nil {
		o.Close()
		return nil, err
	}
	return o, nil
}

func (o *Observer) start(ctx context.Context, opts *server.Options, log *slog.Logger) (err error) {
	if o.server, err = run(opts, newServerLogger(log)); err != nil {
		return err
	}
	for o.server.NumRoutes() == 0 {
		if err := retry.Pause(ctx, quorumPoll); err != nil {
			return fmt.Errorf("%w: no member of the cluster %q answers at %s: %w",
				natsconn.ErrConnect, opts.Cluster.Name, strings.Join(addressesOf(opts.Routes), ", "), err)
		}
	}
	return nil
}

func (o *Observer) connect(password string) (err error) {
	inProcess := nats.InProcessServer(o.server)
	if o.system, err = nats.Connect("", inProcess, nats.UserInfo(systemUser, password)); err != nil {
		return fmt.Errorf("%w of this process: %w", natsconn.ErrConnect, err)
	}
	if o.streams, err = nats.Connect("", inProcess); err != nil {
		return fmt.Errorf("%w of this process: %w", natsconn.ErrConnect, err)
	}
	return nil
}

// SystemConn returns the connection to the cluster's system account.
func (o *Observer) SystemConn() *nats.Conn { return o.system }

// StreamsConn returns the connection to the account of the streams.
func (o *Observer) StreamsConn() *nats.Conn { return o.streams }

// Neighbours returns the names of the servers that the observer is connected to, in order.
func (o *Observer) Neighbours() []string { return neighbours(o.server) }

// Close leaves the cluster.
func (o *Observer) Close() {
	for _, nc := range []*nats.Conn{o.system, o.streams} {
		if nc != nil {
			nc.Close()
		}
	}
	stop(o.server)
}
