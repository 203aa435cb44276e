package embedded

import (
	"fmt"
	"net"
	"net/netip"
	"strconv"

	"github.com/nats-io/nats-server/v2/server"
)

// ownListen returns the host and the port of an address of this server. open is why every program that reaches the
// address can use it, empty if it cannot; then it may be no address for other hosts.
func ownListen(listen, open string) (string, int, error) {
	host, port, err := splitListen(listen)
	if err == nil && open != "" && !isLoopback(host) {
		err = fmt.Errorf("%w: %s is open to other hosts without authentication: %s; listen on 127.0.0.1, "+
			"or require a login with --auth or certificates with --tls-cert, --tls-key, --tls-ca and --tls-verify, "+
			"or with --nats-config, or accept it with --allow-remote",
			ErrListen, listen, open)
	}
	return host, port, err
}

// splitListen returns the host and the port as NATS wants it: -1 for any.
func splitListen(listen string) (string, int, error) {
	host, text, err := net.SplitHostPort(listen)
	if err != nil {
		return "", 0, fmt.Errorf("%w: %q is not host:port: %w", ErrListen, listen, err)
	}
	port, err := strconv.Atoi(text)
	if err != nil || port < -1 || port > 65535 {
		return "", 0, fmt.Errorf("%w: %q has no port from 1 to 65535, or 0 for any", ErrListen, listen)
	}
	if port == 0 {
		port = server.RANDOM_PORT
	}
	return host, port, nil
}

func isLoopback(host string) bool {
	if host == "localhost" {
		return true
	}
	ip, err := netip.ParseAddr(host)
	return err == nil && ip.Unmap().IsLoopback()
}

func isWildcard(host string) bool {
	if host == "" {
		return true
	}
	ip, err := netip.ParseAddr(host)
	return err == nil && ip.IsUnspecified()
}
