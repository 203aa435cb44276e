package connect

import (
	"net"
	"net/url"
	"strings"

	"github.com/nats-io/nats.go"
	"golang.org/x/net/proxy"

	"github.com/holdfast-io/holdfast/clients/request"
	"github.com/holdfast-io/holdfast/cmd/holdfast/internal/exit"
)

// checkProxy refuses what is no URL of a SOCKS5 proxy. where names its source.
func checkProxy(where, address string) error {
	if address == "" {
		return nil
	}
	if _, err := proxyDialer(address); err != nil {
		return exit.Usagef("%s: the URL of a SOCKS5 proxy, as in socks5://127.0.0.1:1080, got %q",
			where, request.WithoutSecrets(address))
	}
	return nil
}

// proxyDialer returns the dialer through a proxy. It bounds the dial to the proxy as a direct one.
func proxyDialer(address string) (proxy.Dialer, error) {
	u, err := url.Parse(address)
	if err != nil {
		return nil, err
	}
	if u.Port() == "" {
		return nil, &net.AddrError{Err: "missing port", Addr: u.Host}
	}
	return proxy.FromURL(u, &net.Dialer{Timeout: dialTimeout})
}

// pathOptions say how the network reaches NATS.
func (c *Flags) pathOptions() (options []nats.Option) {
	if c.socksProxy != "" {
		if dialer, err := proxyDialer(c.socksProxy); err == nil { // checked before
			options = append(options, nats.SetCustomDialer(dialer))
		}
	}
	// A path is that of a proxy for WebSocket.
	first, _, _ := strings.Cut(c.server, ",")
	if u, err := url.Parse(strings.TrimSpace(first)); err == nil && u.IsAbs() && u.Path != "" {
		options = append(options, nats.ProxyPath(u.Path))
	}
	return options
}
