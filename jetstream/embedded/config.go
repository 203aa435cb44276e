package embedded

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"net"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"

	"github.com/holdfast-io/holdfast/jetstream/embedded/peersfile"
	"github.com/holdfast-io/holdfast/jetstream/natsconn"
)

// defaultListen is where NATS clients look first.
const defaultListen = "127.0.0.1:4222"

// defaultCluster is the name of a cluster that was given none.
const defaultCluster = "holdfast"

// routeWriteTimeout bounds how long a blocked route delays the others.
const routeWriteTimeout = 2 * time.Second

// Config configures the embedded NATS server: with DataDir and Listen, as a member of a cluster
// with ClusterListen and Routes as well, with TLS and AuthFile for certificates and logins, or with the full grammar of
// NATS in ConfigFile.
type Config struct {
	// Name of the server. It must stay the same, and be unique within a cluster. A ConfigFile's
	// server_name goes first.
	Name string
	// Listen is host:port; port -1 or 0 takes any free one. Empty: 127.0.0.1:4222. Not with ConfigFile.
	Listen string
	// ClusterListen is host:port for the other members of a cluster. Empty: this server is alone. Not
	// with ConfigFile.
	ClusterListen string
	// Routes are the ClusterListen of every member, as host:port, with nats:// before it or without. All
	// members can be given the same list. With an empty directory, the server's own route alone creates a
	// cluster of one, which others can join. Not with ConfigFile.
	Routes []string
	// ClusterName is the same on all members, which refuse others. Empty: holdfast.
	ClusterName string
	// TLS is for clients. Not with ConfigFile.
	TLS TLSFiles
	// ClusterTLS is for the members of a cluster, with an authority that signs certificates of members only. Without it
	// they use TLS, and the certificate of a member has to name a host of Routes. Not with ConfigFile.
	ClusterTLS TLSFiles
	// AuthFile has the sections of a NATS configuration that say who may log in. Not with ConfigFile.
	AuthFile string
	// Login is how the connections of this process log in. A reload is refused if it would lock them out.
	Login []nats.Option
	// Stream is a stream that belongs to the account of Login. The server refuses to start, and to reload, if it would
	// leave it in another account. Empty: no check.
	Stream string
	// AllowRemote permits a Listen and a ClusterListen that other hosts can reach without authentication.
	AllowRemote bool
	// DataDir is created if it is missing. Not with ConfigFile.
	DataDir string
	// ConfigFile of NATS. Its store_dir is the data directory.
	ConfigFile string
	// VerifiedUsers requires that clients cannot claim to be another user: a client may send an nkey beside its
	// password, and a server that knows no nkey passes it on as the name of the user.
	VerifiedUsers bool
	// MaxConnections bounds the connections of clients, MaxSubscriptions the subscriptions of each; 0: the default of
	// NATS, which has no bound on subscriptions. Not with ConfigFile.
	MaxConnections, MaxSubscriptions int
	// UnsafeSync acknowledges writes that a power cut may still lose.
	UnsafeSync bool
	// Log gets the server's lines. nil: [slog.Default].
	Log *slog.Logger
}

// options returns the settings for the NATS server.
func (c Config) options() (*server.Options, error) {
	read := c.fromFields
	if c.ConfigFile != "" {
		read = c.fromFile
	}
	opts, err := read()
	if err != nil {
		return nil, err
	}
	// mutant: PasswordsOnly
	if c.VerifiedUsers && len(opts.Nkeys) == 0 && len(opts.TrustedOperators) == 0 && len(opts.TrustedKeys) == 0 {
		return nil,
			fmt.Errorf("%w: %s has no user with an nkey, so a client with a password could claim to be another user; "+
				"give at least one user an nkey, best that of the nodes", ErrConfig,
				cmp.Or(c.AuthFile, c.ConfigFile, "a server without logins"))
	}
	opts.ServerName = cmp.Or(opts.ServerName, c.Name)
	opts.NoSigs = true // The process has its own way to stop.
	opts.DisableJetStreamBanner = true
	return opts, nil
}

// optionsAgain reads the settings for the next instance of a server that runs with those before.
func (c Config) optionsAgain(before *server.Options) (*server.Options, error) {
	opts, err := c.options()
	if err != nil {
		return nil, err
	}
	if opts.StoreDir != before.StoreDir {
		return nil, fmt.Errorf("%w: %s names the store_dir %s, it was %s; set it back, or restart the process",
			ErrConfig, c.ConfigFile, opts.StoreDir, before.StoreDir)
	}
	if opts.Port <= 0 {
		opts.Port = before.Port // the free port of the first start stays the same
	}
	if opts.Cluster.Port < 0 {
		opts.Cluster.Port = before.Cluster.Port
	}
	if c.ConfigFile == "" {
		opts.Routes = before.Routes // with the server's own one, which only its first start needs
	}
	return opts, nil
}

func (c Config) fromFields() (*server.Options, error) {
	if c.DataDir == "" {
		return nil, fmt.Errorf("%w: no data directory; give one with --data", ErrConfig)
	}
	opts := &server.Options{}
	if c.AuthFile != "" {
		var err error
		if opts, err = readAuth(c.AuthFile); err != nil {
			return nil, err
		}
	}
	open := isOpen(opts)
	if c.AllowRemote || c.TLS.Verify {
		open = ""
	}
	host, port, err := ownListen(cmp.Or(c.Listen, defaultListen), open)
	if err != nil {
		return nil, err
	}
	opts.ServerName = c.Name
	opts.Host, opts.Port = host, port
	opts.JetStream, opts.StoreDir, opts.SyncAlways = true, c.DataDir, !c.UnsafeSync // mutant: NotSynced
	// Each resource and each answer has a subject of its own, so the cache of subjects knows next to none of them.
	opts.NoSublistCache = true
	opts.MaxConn, opts.MaxSubs = c.MaxConnections, c.MaxSubscriptions
	if err := c.serveTLS(opts); err != nil {
		return nil, err
	}
	return opts, c.joinCluster(opts)
}

// joinCluster configures the server as a member of a cluster if ClusterListen and Routes are set.
func (c Config) joinCluster(opts *server.Options) error {
	switch {
	case c.ClusterListen == "" && len(c.Routes) == 0:
		return nil
	case c.ClusterListen == "":
		return fmt.Errorf(
			"%w: routes lead to other members of a cluster, which cannot reach this one; give --cluster-listen",
			ErrConfig)
	case len(c.Routes) == 0:
		return fmt.Errorf(
			"%w: a member of a cluster has to know the others; give --routes, the --cluster-listen of every member",
			ErrConfig)
	case c.Name == "":
		return fmt.Errorf("%w: a member of a cluster needs a name that stays the same; give --name", ErrConfig)
	}
	open := "members are not verified"
	if c.AllowRemote || c.hasRouteTLS() {
		open = ""
	}
	host, port, err := ownListen(c.ClusterListen, open)
	if err != nil {
		return err
	}
	if opts.Routes, err = parseRoutes(c.Routes); err != nil {
		return err
	}
	if port > 0 && !isWildcard(host) {
		if err := addOwnRoute(opts, host, port); err != nil {
			return err
		}
	}
	opts.Cluster = server.ClusterOpts{
		Name: cmp.Or(c.ClusterName, defaultCluster),
		Host: host,
		Port: port,
		// certificates name hosts, and NATS advertises addresses
		NoAdvertise: c.TLS.given() || !isAdvertisable(opts.Host, host),
		// a partition is detected as soon as by clients
		PingInterval: natsconn.PingInterval,
		MaxPingsOut:  natsconn.PingsMissed,
		// Do not wait for a member that is paused.
		WriteDeadline: routeWriteTimeout,
	}
	return c.routeTLS(opts)
}

// addOwnRoute adds the route to the member itself if it is missing: the number of routes is the number of
// members that the first election waits for. A member that was in its cluster before needs no route to itself.
func addOwnRoute(opts *server.Options, host string, port int) error {
	joined, err := holdsAny(peersfile.Dir(opts.StoreDir), anyEntry)
	if err != nil || joined {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), resolveTimeout)
	defer cancel()
	own, err := ownRoute(ctx, opts.Routes, host, port, net.DefaultResolver.LookupHost)
	if err != nil || own >= 0 {
		return err
	}
	opts.Routes = append(opts.Routes, routeTo(host, port))
	return nil
}

// isAdvertisable reports whether clients of other members can use this member's client address. NATS would
// advertise a wildcard as every address of this host, and a loopback address leads to the client's own host.
func isAdvertisable(clients, members string) bool {
	return !isWildcard(clients) && (!isLoopback(clients) || isLoopback(members))
}

func (c Config) fromFile() (*server.Options, error) {
	if c.Listen != "" || c.DataDir != "" {
		return nil, fmt.Errorf("%w: a NATS configuration file decides where to listen and where the data is; "+
			"set listen and jetstream.store_dir in %s and leave out --listen and --data", ErrConfig, c.ConfigFile)
	}
	if c.ClusterListen != "" || len(c.Routes) != 0 {
		return nil, fmt.Errorf("%w: a NATS configuration file decides about its cluster; "+
			"set cluster.listen and cluster.routes in %s and leave out --cluster-listen and --routes", ErrConfig,
			c.ConfigFile)
	}
	opts, err := server.ProcessConfigFile(c.ConfigFile)
	if err != nil {
		return nil, fmt.Errorf("%w: %s: %w", ErrConfig, c.ConfigFile, err)
	}
	switch {
	case !opts.JetStream:
		err = c.missing("JetStream is off; Holdfast keeps its locks there",
			"jetstream {\n  store_dir: \"/var/lib/holdfast\"\n  sync_interval: always\n}")
	case opts.StoreDir == "":
		err = c.missing("JetStream has no store_dir and would use a temporary folder",
			"jetstream {\n  store_dir: \"/var/lib/holdfast\"\n}")
	case !opts.SyncAlways && !c.UnsafeSync:
		err = c.missing("JetStream does not sync every write, so that a power cut loses locks that were granted",
			"jetstream {\n  sync_interval: always\n}")
	}
	return opts, err
}

func (c Config) missing(what, write string) error {
	return fmt.Errorf("%w: %s: %s; write\n\n%s", ErrConfig, c.ConfigFile, what, write)
}
