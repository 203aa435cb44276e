package embedded

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/nats-io/nats-server/v2/server"

	"github.com/holdfast-io/holdfast/jetstream/natsconn"
)

// defaultCluster is the name of a cluster that was given none.
const defaultCluster = "holdfast"

// routeWriteTimeout bounds how long a blocked route delays the others.
const routeWriteTimeout = 2 * time.Second

// joinCluster configures the server as a member of a cluster if ClusterListen and Routes are set.
func (c Config) joinCluster(opts *server.Options) error {
	switch {
	case c.ClusterListen == "" && len(c.Routes) == 0:
		return nil
	case c.ClusterListen == "":
		return fmt.Errorf("%w: routes lead to other members of a cluster, which cannot reach this one; give --cluster-listen", ErrConfig)
	case len(c.Routes) == 0:
		return fmt.Errorf("%w: a member of a cluster has to know the others; give --routes, the --cluster-listen of every member", ErrConfig)
	case c.Name == "":
		return fmt.Errorf("%w: a member of a cluster needs a name that stays the same; give --name", ErrConfig)
	}
	host, port, err := splitListen(c.ClusterListen)
	if err != nil {
		return err
	}
	if !c.AllowRemote && !isLoopback(host) {
		return openToOthers(c.ClusterListen)
	}
	opts.Routes, err = parseRoutes(c.Routes)
	if err != nil {
		return err
	}
	if port > 0 && !isWildcard(host) {
		if err := addOwnRoute(opts, host, port); err != nil {
			return err
		}
	}
	name := c.ClusterName
	if name == "" {
		name = defaultCluster
	}
	opts.Cluster = server.ClusterOpts{
		Name:         name,
		Host:         host,
		Port:         port,
		NoAdvertise:  !isAdvertisable(opts.Host, host),
		PingInterval: natsconn.PingInterval, // a partition is detected as soon as by clients
		MaxPingsOut:  natsconn.PingsMissed,
		// Do not wait for a member that is paused.
		WriteDeadline: routeWriteTimeout,
	}
	return nil
}

// addOwnRoute adds the route to the member itself if it is missing: the number of routes is the number of
// members that the first election waits for. A member that was in its cluster before needs no route to itself.
func addOwnRoute(opts *server.Options, host string, port int) error {
	joined, err := holdsAny(metaDir(opts), anyEntry)
	if err != nil || joined {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), resolveTimeout)
	defer cancel()
	own, err := ownRoute(ctx, opts.Routes, host, port, net.DefaultResolver.LookupHost)
	if err != nil || own >= 0 {
		return err
	}
	opts.Routes = append(opts.Routes, &url.URL{Scheme: "nats-route", Host: net.JoinHostPort(host, fmt.Sprint(port))})
	return nil
}

// parseRoutes reads host:port, with nats:// before it or without.
func parseRoutes(routes []string) ([]*url.URL, error) {
	var urls []*url.URL
	for _, route := range routes {
		address := strings.TrimSpace(route)
		for _, scheme := range []string{"nats://", "nats-route://"} {
			address = strings.TrimPrefix(address, scheme)
		}
		host, port, err := splitListen(address)
		switch {
		case strings.Contains(address, "@"):
			return nil, fmt.Errorf("%w: a route with a login; only --nats-config can ask members for one", ErrConfig)
		case err != nil || host == "" || port < 1:
			return nil, fmt.Errorf("%w: route %q is not HOST:PORT, the --cluster-listen of a member", ErrConfig, route)
		case isWildcard(host):
			return nil, fmt.Errorf("%w: route %q leads nowhere; give the address at which others reach that member", ErrConfig, route)
		}
		one := &url.URL{Scheme: "nats-route", Host: net.JoinHostPort(host, fmt.Sprint(port))}
		if !slices.ContainsFunc(urls, func(u *url.URL) bool { return u.Host == one.Host }) {
			urls = append(urls, one)
		}
	}
	return urls, nil
}

// isAdvertisable reports whether clients of other members can use this member's client address. NATS would
// advertise a wildcard as every address of this host, and a loopback address leads to the client's own host.
func isAdvertisable(clients, members string) bool {
	return !isWildcard(clients) && (!isLoopback(clients) || isLoopback(members))
}

func isWildcard(host string) bool {
	if host == "" {
		return true
	}
	ip, err := netip.ParseAddr(host)
	return err == nil && ip.IsUnspecified()
}
