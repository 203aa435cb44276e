package embedded

import (
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"strconv"

	"github.com/nats-io/nats-server/v2/server"
)

// defaultListen is where NATS clients look first.
const defaultListen = "127.0.0.1:4222"

// Config configures the embedded NATS server: with DataDir and Listen, as a member of a cluster
// with ClusterListen and Routes as well, or with the full grammar of NATS in ConfigFile, for TLS and
// authentication.
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
	// AllowRemote permits a Listen and a ClusterListen that other hosts can reach without authentication.
	AllowRemote bool
	// DataDir is created if it is missing. Not with ConfigFile.
	DataDir string
	// ConfigFile of NATS. Its store_dir is the data directory.
	ConfigFile string
	// UnsafeSync acknowledges writes that a power cut may still lose.
	UnsafeSync bool
	// Log gets the server's lines. nil: [slog.Default].
	Log *slog.Logger
}

// options returns the settings for the NATS server.
func (c Config) options() (*server.Options, error) {
	var opts *server.Options
	var err error
	if c.ConfigFile != "" {
		opts, err = c.fromFile()
	} else {
		opts, err = c.fromFields()
	}
	if err != nil {
		return nil, err
	}
	if opts.ServerName == "" {
		opts.ServerName = c.Name
	}
	opts.NoSigs = true // The process has its own way to stop.
	opts.DisableJetStreamBanner = true
	return opts, nil
}

func (c Config) fromFields() (*server.Options, error) {
	if c.DataDir == "" {
		return nil, fmt.Errorf("%w: no data directory; give one with --data", ErrConfig)
	}
	listen := c.Listen
	if listen == "" {
		listen = defaultListen
	}
	host, port, err := splitListen(listen)
	if err != nil {
		return nil, err
	}
	if !c.AllowRemote && !isLoopback(host) {
		return nil, openToOthers(listen)
	}
	opts := &server.Options{
		ServerName: c.Name,
		Host:       host,
		Port:       port,
		JetStream:  true,
		StoreDir:   c.DataDir,
		SyncAlways: !c.UnsafeSync,
	}
	return opts, c.joinCluster(opts)
}

func openToOthers(listen string) error {
	return fmt.Errorf("%w: %s is open to other hosts without authentication; listen on 127.0.0.1, "+
		"or use --nats-config with authentication, or accept it with --allow-remote", ErrListen, listen)
}

func (c Config) fromFile() (*server.Options, error) {
	if c.Listen != "" || c.DataDir != "" {
		return nil, fmt.Errorf("%w: a NATS configuration file decides where to listen and where the data is; "+
			"set listen and jetstream.store_dir in %s and leave out --listen and --data", ErrConfig, c.ConfigFile)
	}
	if c.ClusterListen != "" || len(c.Routes) != 0 {
		return nil, fmt.Errorf("%w: a NATS configuration file decides about its cluster; "+
			"set cluster.listen and cluster.routes in %s and leave out --cluster-listen and --routes", ErrConfig, c.ConfigFile)
	}
	opts, err := server.ProcessConfigFile(c.ConfigFile)
	if err != nil {
		return nil, fmt.Errorf("%w: %s: %w", ErrConfig, c.ConfigFile, err)
	}
	switch {
	case !opts.JetStream:
		err = c.missing("JetStream is off; Holdfast keeps its locks there", "jetstream {\n  store_dir: \"/var/lib/holdfast\"\n  sync_interval: always\n}")
	case opts.StoreDir == "":
		err = c.missing("JetStream has no store_dir and would use a temporary folder", "jetstream {\n  store_dir: \"/var/lib/holdfast\"\n}")
	case !opts.SyncAlways && !c.UnsafeSync:
		err = c.missing("JetStream does not sync every write, so that a power cut loses locks that were granted", "jetstream {\n  sync_interval: always\n}")
	}
	return opts, err
}

func (c Config) missing(what, write string) error {
	return fmt.Errorf("%w: %s: %s; write\n\n%s", ErrConfig, c.ConfigFile, what, write)
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
