package embedded

import (
	"fmt"
	"net"
	"net/url"
	"slices"
	"strings"

	"github.com/nats-io/nats-server/v2/server"
)

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
			return nil, fmt.Errorf("%w: route %q leads nowhere; give the address at which others reach that member",
				ErrConfig, route)
		}
		one := routeTo(host, port)
		if !slices.ContainsFunc(urls, func(u *url.URL) bool { return u.Host == one.Host }) {
			urls = append(urls, one)
		}
	}
	return urls, nil
}

// routeTo returns the route to a member.
func routeTo(host string, port int) *url.URL {
	return &url.URL{Scheme: "nats-route", Host: net.JoinHostPort(host, fmt.Sprint(port))}
}

// addressesOf returns the addresses of routes.
func addressesOf(routes []*url.URL) []string {
	var addresses []string
	for _, route := range routes {
		addresses = append(addresses, route.Host) // the rest may contain a password
	}
	return addresses
}

// members returns the names of the server and of its neighbours, in order.
func members(s *server.Server) []string {
	names := append(neighbours(s), s.Name())
	slices.Sort(names)
	return slices.Compact(names)
}

// neighbours returns the names of the servers at the other ends of the routes, in order.
func neighbours(s *server.Server) []string {
	var names []string
	if routes, err := s.Routez(&server.RoutezOptions{}); err == nil {
		for _, route := range routes.Routes {
			names = append(names, route.RemoteName)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}
