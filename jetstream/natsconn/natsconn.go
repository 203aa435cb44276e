package natsconn

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"golang.org/x/time/rate"
)

const (
	// PingInterval and PingsMissed detect a peer that is lost without closing the connection: after 4 to 6
	// seconds, before a cluster has elected a new leader. The default of NATS, two minutes, would stop a
	// shard for that time.
	PingInterval = 2 * time.Second
	// PingsMissed is the number of pings without an answer.
	PingsMissed = 2
	// writeTimeout bounds how long a publish can hang on a connection that takes no more.
	writeTimeout = 2 * time.Second
	// reconnectWait between two rounds through the known servers.
	reconnectWait = 100 * time.Millisecond
	// malformedEvery is how often a connection logs that a message has malformed headers.
	malformedEvery = 10 * time.Second
)

// ErrConnect says that no connection to NATS was established.
var ErrConnect = errors.New("cannot connect to NATS")

// Config says how to reach a NATS server outside of this process. Empty fields are not used.
type Config struct {
	URL   string // one or more, separated by commas
	Creds string // credentials file, of the decentralized authentication
	NKey  string // file with an nkey's seed
	CA    string // file with the authorities that signed the server's certificate
	Cert  string // file with the client's own certificate
	Key   string // file with its key
	First bool   // TLS begins before the greeting of the server
	Inbox string // with which the subjects of answers begin
	Name  string // of the connection, for the server's operator
	Log   *slog.Logger
}

// Dial is [Open] with the options of the configuration.
func Dial(cfg Config, opts ...nats.Option) (*nats.Conn, error) {
	of, err := cfg.Connection()
	if err != nil {
		return nil, err
	}
	return Open(of, cfg.Name, cfg.Log, opts...)
}

// Connection returns where the server is and how to log in there, for [Open]. The error is an [ErrConnect].
func (c Config) Connection() (nats.Options, error) {
	of := nats.Options{}
	for one := range strings.SplitSeq(c.URL, ",") {
		if one = strings.TrimSpace(one); one != "" {
			of.Servers = append(of.Servers, one)
		}
	}
	var opts []nats.Option
	if c.Creds != "" {
		opts = append(opts, nats.UserCredentials(c.Creds))
	}
	if c.NKey != "" {
		option, err := nats.NkeyOptionFromSeed(c.NKey)
		if err != nil {
			return of, fmt.Errorf("%w: nkey file %s: %w", ErrConnect, c.NKey, err)
		}
		opts = append(opts, option)
	}
	if c.CA != "" {
		opts = append(opts, nats.RootCAs(c.CA))
	}
	if (c.Cert == "") != (c.Key == "") {
		return of, fmt.Errorf("%w: a client certificate and its key belong together, give both", ErrConnect)
	}
	if c.Cert != "" {
		opts = append(opts, nats.ClientCert(c.Cert, c.Key))
	}
	if c.First {
		opts = append(opts, nats.TLSHandshakeFirst())
	}
	if c.Inbox != "" {
		opts = append(opts, nats.CustomInboxPrefix(c.Inbox))
	}
	err := use(&of, opts)
	return of, err
}

// use applies options to others.
func use(of *nats.Options, opts []nats.Option) error {
	for _, option := range opts {
		if err := option(of); err != nil {
			return fmt.Errorf("%w: %s: %w", ErrConnect, hint(err), err)
		}
	}
	return nil
}

// Options returns the options that all connections of a node share. A nil log is [slog.Default]. Nothing is
// buffered while a connection is interrupted, because the sender would have given up by the time it is sent.
func Options(name string, log *slog.Logger) []nats.Option {
	log = cmp.Or(log, slog.Default()).With("connection", name)
	malformed := &rate.Sometimes{First: 1, Interval: malformedEvery}
	// Clients can cause errors: NATS reports each answer that this user may not publish.
	sometimes := &rate.Sometimes{First: 10, Interval: time.Second}
	return []nats.Option{
		nats.Name(name),
		nats.ReconnectBufSize(-1),
		nats.MaxReconnects(-1),
		nats.ReconnectWait(reconnectWait),
		nats.PingInterval(PingInterval),
		nats.MaxPingsOutstanding(PingsMissed),
		nats.FlusherTimeout(writeTimeout),
		nats.DisconnectErrHandler(func(_ *nats.Conn, err error) {
			if err != nil { // Nil when it was closed on purpose.
				log.Warn("disconnected from NATS", "error", err)
			}
		}),
		nats.ReconnectHandler(func(nc *nats.Conn) {
			log.Info("reconnected to NATS", "server", nc.ConnectedServerName())
		}),
		nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) {
			if errors.Is(err, nats.ErrBadHeaderMsg) { // a client has sent it, and may send many
				malformed.Do(func() {
					log.Warn("a message has headers that cannot be read; it is taken without them",
						"error", err)
				})
				return
			}
			sometimes.Do(func() { log.Error("NATS reports an error", "error", err) })
		}),
	}
}

// hint says what to check after a failed connection.
func hint(err error) string {
	switch {
	case errors.Is(err, nats.ErrNoServers), errors.Is(err, nats.ErrTimeout):
		return "is a NATS server running there"
	case errors.Is(err, nats.ErrAuthorization), errors.Is(err, nats.ErrAuthExpired),
		errors.Is(err, nats.ErrAuthRevoked):
		return "the server refuses these credentials"
	case errors.Is(err, nats.ErrSecureConnRequired), errors.Is(err, nats.ErrSecureConnWanted):
		return "one side wants TLS and the other does not"
	default:
		return "check the URL, the certificates and the credentials"
	}
}

// withoutSecrets returns the URLs as they may be shown.
func withoutSecrets(urls string) string {
	var shown []string
	for one := range strings.SplitSeq(urls, ",") {
		one = strings.TrimSpace(one)
		parsed, err := url.Parse(one)
		if err != nil || strings.Contains(one, "@") && parsed.User == nil {
			one = "(a URL that cannot be read)"
		} else if parsed.User != nil {
			parsed.User = url.User("***")
			one = parsed.String()
		}
		shown = append(shown, one)
	}
	return strings.Join(shown, ",")
}
