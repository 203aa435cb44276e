package embedded

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"slices"
	"time"

	"github.com/holdfast-io/holdfast/jetstream/internal/retry"
)

const (
	// resolveTimeout bounds the time in which names of routes have to be resolved, once for all of them.
	resolveTimeout = 15 * time.Second
	// lookupTimeout bounds one lookup, so that one name does not use up the time of the others.
	lookupTimeout = 3 * time.Second
)

// resolver returns the addresses of a host name.
type resolver func(ctx context.Context, host string) ([]string, error)

// ownRoute returns which of the routes leads to the member that listens at host and port, -1 for none. It
// retries while names cannot be resolved, and returns an [ErrRoutes] when ctx ends, because a wrong answer could
// create a second cluster.
func ownRoute(ctx context.Context, routes []*url.URL, host string, port int, resolve resolver) (int, error) {
	var backoff retry.Backoff
	for {
		own, err := tryOwnRoute(ctx, routes, host, port, resolve)
		if err == nil {
			return own, nil
		}
		if backoff.Wait(ctx) != nil {
			return -1,
				fmt.Errorf(
					"%w, so it is unknown which of %v leads to this member; "+
						"make the names resolvable, or give addresses: %w",
					ErrRoutes, addressesOf(routes), err)
		}
	}
}

// tryOwnRoute resolves each name once. A match is certain also if other names cannot be resolved.
func tryOwnRoute(ctx context.Context, routes []*url.URL, host string, port int, resolve resolver) (int, error) {
	isCandidate := func(route *url.URL) bool { return route.Port() == fmt.Sprint(port) }
	if own := slices.IndexFunc(routes, func(r *url.URL) bool { return isCandidate(r) && r.Hostname() == host }); own >= 0 {
		return own, nil
	}
	if !slices.ContainsFunc(routes, isCandidate) {
		return -1, nil
	}
	here, unresolved := listening(ctx, host, resolve)
	for i, route := range routes {
		if !isCandidate(route) {
			continue
		}
		there, err := addresses(ctx, route.Hostname(), resolve)
		if slices.ContainsFunc(there, func(ip string) bool { return slices.Contains(here, ip) }) {
			return i, nil
		}
		if err != nil {
			unresolved = err
		}
	}
	return -1, unresolved
}

// listening returns the addresses at which a member listens.
func listening(ctx context.Context, host string, resolve resolver) ([]string, error) {
	if !isWildcard(host) {
		return addresses(ctx, host, resolve)
	}
	all, err := net.InterfaceAddrs()
	if err != nil {
		return nil, err
	}
	var own []string
	for _, address := range all {
		if network, ok := address.(*net.IPNet); ok {
			own = append(own, network.IP.String())
		}
	}
	return own, nil
}

// addresses returns those of a host, which is a name or an address.
func addresses(ctx context.Context, host string, resolve resolver) ([]string, error) {
	if ip, err := netip.ParseAddr(host); err == nil {
		return []string{ip.Unmap().String()}, nil
	}
	ctx, cancel := context.WithTimeout(ctx, lookupTimeout)
	defer cancel()
	return resolve(ctx, host)
}
