package embedded

import (
	"context"
	"log/slog"
	"net"

	"github.com/nats-io/nats-server/v2/server"

	"github.com/holdfast-io/holdfast/jetstream/embedded/peersfile"
)

// minMembers is the number of new members that can create a cluster which was not bootstrapped by its first
// member. With two, a pair that joins could elect a leader without the existing member while it is away.
const minMembers = 3

// bootstrap writes the members of the cluster into an empty data directory in the two cases where NATS by itself would
// create the wrong cluster.
//
// A server whose only route is its own becomes the only member of a new cluster. NATS does not create a
// cluster of one, but runs one that exists and lets others join. If a newer NATS does not accept the file, the
// server waits for a second member and logs that.
//
// A server with the route of one other member before its own joins that member. NATS would let it create a
// cluster with the first new member that it meets, and the other's streams would be deleted on its return.
func bootstrap(opts *server.Options) error {
	joined, err := holdsAny(peersfile.Dir(opts.StoreDir), anyEntry)
	if err != nil || joined || len(opts.Routes) != 1 && len(opts.Routes) != 2 {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), resolveTimeout)
	defer cancel()
	own, err := ownRoute(ctx, opts.Routes, opts.Cluster.Host, opts.Cluster.Port, net.DefaultResolver.LookupHost)
	if err != nil {
		return err
	}
	switch {
	case len(opts.Routes) == 1 && own == 0:
		err = peersfile.CreateOfOne(opts.StoreDir, opts.ServerName)
	case len(opts.Routes) == 2 && own == 1:
		err = peersfile.Create(opts.StoreDir, minMembers)
	}
	if err != nil {
		return dataDirError(opts.StoreDir, err)
	}
	return nil
}

// startHelper lets the only member of a cluster elect itself, and returns nil for other servers. NATS holds no
// election before it has seen another server, so a helper server without storage connects to it until
// [Server.AwaitQuorum] stops it.
func startHelper(opts *server.Options) (*server.Server, error) {
	alone, err := peersfile.IsOfOne(opts.StoreDir, opts.ServerName)
	if err != nil {
		return nil, dataDirError(opts.StoreDir, err)
	}
	if !alone {
		return nil, nil
	}
	host := opts.Cluster.Host
	if isWildcard(host) {
		host = "127.0.0.1"
	}
	helper := storelessOptions(opts.ServerName+"-helper", opts.Cluster.Name, routeTo(host, opts.Cluster.Port))
	helper.Cluster.TLSConfig = ownTLS(opts.Cluster.TLSConfig)
	return run(helper, newServerLogger(slog.New(slog.DiscardHandler)))
}
