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

// routeWriteTimeout bounds how long a route that takes no more holds up the others.
const routeWriteTimeout = 2 * time.Second

// joinCluster lets the server be a member of a cluster, if it is to be one.
func (c Config) joinCluster(opts *server.Options) error {
	switch {
	case c.ClusterListen == "" && len(c.Routes) == 0:
		return nil
	case c.ClusterListen == "":
		return fmt.Errorf("%w: routes lead to other members of a cluster, who cannot reach this one; give --cluster-listen", ErrConfig)
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
		NoAdvertise:  !isWorthTelling(opts.Host, host),
		PingInterval: natsconn.PingInterval, // A partition is noticed, and overcome, as soon as by clients.
		MaxPingsOut:  natsconn.PingsMissed,
		// A member that was paused is not waited for.
		WriteDeadline: routeWriteTimeout,
	}
	return nil
}

// addOwnRoute adds the route to the member itself if it is missing: the number of routes is how many members
// the first election waits for. A member that has been in its cluster already needs no route to itself.
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

// isWorthTelling tells whether clients of other members can use the address at which this one takes
// clients: a wildcard would be spelt out as every address of this host, and loopback leads each to his
// own.
func isWorthTelling(clients, members string) bool {
	return !isWildcard(clients) && (!isLoopback(clients) || isLoopback(members))
}

func isWildcard(host string) bool {
	if host == "" {
		return true
	}
	ip, err := netip.ParseAddr(host)
	return err == nil && ip.IsUnspecified()
}
