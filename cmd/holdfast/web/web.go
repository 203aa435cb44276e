// Package web serves HTTP for the operators of a node: what it serves is handed in.
package web

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"golang.org/x/net/netutil"
)

const (
	// maxConnections is how many connections are served at a time. Others wait to be accepted.
	maxConnections = 64
	// maxHeaderBytes bounds the header of a request.
	maxHeaderBytes = 16 << 10
	// headerTimeout, requestTimeout and answerTimeout bound how long a client may take to send the header and all of a
	// request, and the server and the client together for the answer. idleTimeout is how long a connection is kept
	// without a request: short, so that connections which are only kept do not take the place of a check for long. The
	// probes of packaging/chart wait for 3 s.
	headerTimeout, requestTimeout = 2 * time.Second, 2 * time.Second
	answerTimeout, idleTimeout    = 30 * time.Second, 5 * time.Second
)

// ErrConfig says that the configuration cannot work.
var ErrConfig = errors.New("HTTP")

// Config says where to listen.
type Config struct {
	// Flag is the flag that has Listen, for errors.
	Flag string
	// Listen is HOST:PORT; port 0 takes any free one.
	Listen string
	// Elsewhere takes another free port of the host if that of Listen is in use.
	Elsewhere bool
	// Insecure accepts connections of other hosts without TLS.
	Insecure bool
	// Cert and Key are the files of a certificate and its key; both empty: no TLS. [Server.Reload] reads them again.
	Cert, Key string
	// Log receives errors of connections.
	Log *slog.Logger
}

// Server is a running server.
type Server struct {
	http *http.Server
	url  string
	cfg  Config
	// pair is the certificate with its key; nil without TLS.
	pair atomic.Pointer[tls.Certificate]
	// done is closed when nothing is accepted any more.
	done chan struct{}
}

// Start listens and serves the handler. [ErrConfig]: the configuration cannot work, and nothing has happened.
func Start(cfg Config, handler http.Handler) (*Server, error) {
	host, port, err := cfg.check()
	if err != nil {
		return nil, err
	}
	s := &Server{cfg: cfg, done: make(chan struct{})}
	settings, err := s.tls()
	if err != nil {
		return nil, err
	}
	l, err := cfg.listen(host, port)
	if err != nil {
		return nil, err
	}
	if cfg.IsLocal() {
		handler = localOnly(handler)
	}
	s.url, s.http = "http://"+l.Addr().String(), &http.Server{
		Handler: plain(handler), TLSConfig: settings, MaxHeaderBytes: maxHeaderBytes,
		ReadHeaderTimeout: headerTimeout, ReadTimeout: requestTimeout, WriteTimeout: answerTimeout,
		IdleTimeout: idleTimeout,
		ErrorLog:    slog.NewLogLogger(cfg.Log.Handler(), slog.LevelDebug), // a client can cause any number of them
	}
	l = netutil.LimitListener(&fairListener{Listener: l, open: make(map[netip.Prefix]int)}, maxConnections)
	if settings != nil {
		s.url, l = "https://"+l.Addr().String(), tls.NewListener(l, settings)
	}
	go func() {
		defer close(s.done)
		if err := s.http.Serve(l); !errors.Is(err, http.ErrServerClosed) {
			cfg.Log.Error("HTTP is not served any more", "error", err)
		}
	}()
	return s, nil
}

// plain adds headers that suit answers which are neither pages nor to be kept.
func plain(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("X-Content-Type-Options", "nosniff")
		w.Header().Set("Cache-Control", "no-store")
		next.ServeHTTP(w, r)
	})
}

// check returns host and port of the address, which other hosts may reach only if that was asked for.
func (c Config) check() (host, port string, err error) {
	host, port, err = net.SplitHostPort(c.Listen)
	if err != nil {
		return "", "", fmt.Errorf("%w: %q is not HOST:PORT", ErrConfig, c.Listen)
	}
	if n, err := strconv.ParseUint(port, 10, 16); err != nil {
		return "", "", fmt.Errorf("%w: %q has no port from 1 to 65535, or 0 for any", ErrConfig, c.Listen)
	} else if n == 0 {
		port = "0"
	}
	if !isLoopback(host) && !c.Insecure && c.Cert == "" {
		return "", "",
			fmt.Errorf("%w: %s is open to other hosts without TLS; listen on 127.0.0.1, or give --http-tls, "+
				"or accept it with --http-insecure", ErrConfig, c.Listen)
	}
	return host, port, nil
}

// IsLocal reports whether only programs of this host reach the address. An address that cannot be read is not local.
func (c Config) IsLocal() bool {
	host, _, err := net.SplitHostPort(c.Listen)
	return err == nil && isLoopback(host)
}

// Meets reports whether the two configurations cannot have both addresses: the port is the same, and the host is, or one
// of them is all addresses of this host. Addresses that cannot be read do not meet, and neither do those with port 0.
func (c Config) Meets(other Config) bool {
	host, port, err := net.SplitHostPort(c.Listen)
	otherHost, otherPort, otherErr := net.SplitHostPort(other.Listen)
	if err != nil || otherErr != nil || port != otherPort || strings.Trim(port, "0") == "" {
		return false
	}
	return host == otherHost || isAll(host) || isAll(otherHost) || isLoopback(host) && isLoopback(otherHost)
}

// isAll reports whether the host is all addresses of this host.
func isAll(host string) bool {
	ip, err := netip.ParseAddr(host)
	return host == "" || err == nil && ip.Unmap().IsUnspecified()
}

func isLoopback(host string) bool {
	if host == "localhost" {
		return true
	}
	ip, err := netip.ParseAddr(host)
	return err == nil && ip.Unmap().IsLoopback()
}

// tls returns the settings of TLS, nil without it.
func (s *Server) tls() (*tls.Config, error) {
	if s.cfg.Cert == "" {
		return nil, nil
	}
	return &tls.Config{
		GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return s.pair.Load(), nil },
		MinVersion:     tls.VersionTLS12, NextProtos: []string{"http/1.1"},
	}, s.Reload()
}

// Reload reads the certificate again, for connections from then on. [ErrConfig]: it cannot be used, and the one before
// stays.
func (s *Server) Reload() error {
	if s.cfg.Cert == "" {
		return nil
	}
	pair, err := tls.LoadX509KeyPair(s.cfg.Cert, s.cfg.Key)
	if err != nil {
		return fmt.Errorf("%w: the certificate %q with the key %q: %w", ErrConfig, s.cfg.Cert, s.cfg.Key, err)
	}
	s.pair.Store(&pair)
	return nil
}

// CertificateEnds returns when the certificate in use ends. The server must have one.
func (s *Server) CertificateEnds() time.Time { return s.pair.Load().Leaf.NotAfter }

func (c Config) listen(host, port string) (net.Listener, error) {
	l, err := net.Listen("tcp", net.JoinHostPort(host, port))
	if isInUse(err) && c.Elsewhere {
		if l, err = net.Listen("tcp", net.JoinHostPort(host, "0")); err == nil {
			c.Log.Warn("the port for HTTP is in use, taking another one", "wanted", c.Listen, "address",
				l.Addr().String())
		}
	}
	if isInUse(err) {
		return nil, fmt.Errorf(
			"HTTP: cannot listen on %s: another program listens there; choose another address with %s", c.Listen, c.Flag)
	}
	if err != nil {
		return nil, fmt.Errorf("HTTP: cannot listen on %s: %w", c.Listen, cause(err))
	}
	return l, nil
}

// cause removes what an error of the network repeats.
func cause(err error) error {
	if op, ok := errors.AsType[*net.OpError](err); ok {
		return cmp.Or(op.Err, err)
	}
	return err
}

// URL returns where the server listens, without a path.
func (s *Server) URL() string { return s.url }

// Close answers the requests under way and stops the server. When ctx ends before, it closes the connections that are
// left, which is no error: a client can keep a connection open for as long as it likes.
func (s *Server) Close(ctx context.Context) error {
	err := s.http.Shutdown(ctx)
	if ctx.Err() != nil {
		err = s.http.Close()
	}
	<-s.done
	return err
}
