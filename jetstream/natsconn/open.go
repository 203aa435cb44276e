package natsconn

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/url"
	"slices"
	"strings"

	"github.com/nats-io/nats.go"
)

// Open opens a connection of a node to the server of another connection, with its login, TLS, dialer and prefix of
// inboxes. Everything else is as [Options] says, then opts: callbacks in particular are not those of the other one.
//
// If the server is not reachable it returns an [ErrConnect] at once, which says what may be wrong. After it has
// succeeded, the connection reconnects by itself after every interruption.
func Open(of nats.Options, name string, log *slog.Logger, opts ...nats.Option) (*nats.Conn, error) {
	own := destination(of)
	if err := use(&own, append(Options(name, log), opts...)); err != nil {
		return nil, err
	}
	nc, err := own.Connect()
	if unreadable := new(url.Error); errors.As(err, &unreadable) {
		err = unreadable.Err // the whole error would show the password
	}
	if err != nil {
		return nil, fmt.Errorf("%w at %s: %s: %w", ErrConnect, withoutSecrets(URL(of)), hint(err), err)
	}
	return nc, nil
}

// URL returns the URLs of the servers of a connection, separated by commas. It may contain secrets.
func URL(of nats.Options) string {
	urls := append([]string{of.Url}, of.Servers...)
	return strings.Join(slices.DeleteFunc(urls, func(u string) bool { return u == "" }), ",")
}

// destination returns where a connection leads, and how it gets there.
func destination(of nats.Options) nats.Options {
	own := nats.GetDefaultOptions()
	own.Url, own.Servers, own.NoRandomize = of.Url, of.Servers, of.NoRandomize
	own.IgnoreDiscoveredServers, own.SkipHostLookup = of.IgnoreDiscoveredServers, of.SkipHostLookup
	own.Secure, own.TLSConfig, own.TLSHandshakeFirst = of.Secure, of.TLSConfig, of.TLSHandshakeFirst
	own.TLSCertCB, own.RootCAsCB = of.TLSCertCB, of.RootCAsCB
	own.User, own.Password, own.UserInfo = of.User, of.Password, of.UserInfo
	own.Token, own.TokenHandler = of.Token, of.TokenHandler
	own.UserJWT, own.Nkey, own.SignatureCB = of.UserJWT, of.Nkey, of.SignatureCB
	own.IgnoreAuthErrorAbort = of.IgnoreAuthErrorAbort
	own.Compression, own.ProxyPath = of.Compression, of.ProxyPath
	own.WebSocketConnectionHeaders = of.WebSocketConnectionHeaders
	own.WebSocketConnectionHeadersHandler = of.WebSocketConnectionHeadersHandler
	own.InboxPrefix = of.InboxPrefix
	own.Timeout = cmp.Or(of.Timeout, nats.DefaultTimeout)
	own.AllowMultipathTCP = of.AllowMultipathTCP
	switch {
	case of.InProcessServer != nil:
		own.InProcessServer = inProcess{of.InProcessServer}
	case of.CustomDialer != nil:
		own.CustomDialer = dialer{of.CustomDialer}
	default:
		own.CustomDialer = dialer{cmp.Or(of.Dialer, &net.Dialer{Timeout: own.Timeout})}
	}
	return own
}
