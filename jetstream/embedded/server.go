package embedded

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/gofrs/flock"
	"github.com/nats-io/nats.go"

	"github.com/holdfast-io/holdfast/jetstream/natsconn"
)

// pingInProcess is the ping interval of connections within the process. No network can fail between
// their ends. A late answer means a busy process, and to give the connection up would lose its requests.
const pingInProcess = time.Minute

// Server is a NATS server with JetStream in this process. It is safe for concurrent use.
type Server struct {
	lock       *flock.Flock
	runner     *runner
	supervisor *supervisor
}

// Start starts a NATS server that syncs every write, and returns when it accepts connections. Call
// [Server.AwaitQuorum] before using a member of a cluster. The errors are [ErrConfig], [ErrCertificate], [ErrListen],
// [ErrRoutes] and [ErrDataDir]; each says what to change.
func Start(cfg Config) (*Server, error) {
	cfg.Log = cmp.Or(cfg.Log, slog.Default())
	opts, err := cfg.options()
	if err != nil {
		return nil, err
	}
	lock, err := lockDataDir(opts.StoreDir)
	if err != nil {
		return nil, err
	}
	r := &runner{cfg: cfg}
	err = checkHistory(opts)
	if err == nil && cfg.ConfigFile == "" {
		err = cfg.checkAccount(opts.StoreDir)
	}
	if err == nil && cfg.ConfigFile == "" {
		err = bootstrap(opts)
	}
	if err == nil {
		err = r.start(opts)
	}
	if err != nil {
		_ = lock.Close()
		return nil, err
	}
	return &Server{lock: lock, runner: r, supervisor: supervise(r)}, nil
}

// Members returns the names of the servers of the cluster to which this one has a connection, and its
// own, in order.
func (s *Server) Members() []string { return members(s.runner.present().Server) }

// Connect connects within the process, without the network. If the configuration file asks for
// authentication, the options must provide it.
func (s *Server) Connect(opts ...nats.Option) (*nats.Conn, error) {
	cfg := s.runner.cfg
	all := append(natsconn.Options(cfg.Name, cfg.Log), nats.InProcessServer(s.runner), nats.PingInterval(pingInProcess))
	nc, err := nats.Connect("", append(all, opts...)...)
	if err != nil {
		return nil, fmt.Errorf("%w of this process (does its configuration ask for authentication?): %w",
			natsconn.ErrConnect, err)
	}
	return nc, nil
}

// ClientURL returns the URL for clients on this host: nats://127.0.0.1:4222.
func (s *Server) ClientURL() string { return s.runner.present().ClientURL() }

// DataDir returns the directory that holds the data.
func (s *Server) DataDir() string { return s.runner.present().opts.StoreDir }

// Synced reports whether the server confirms a write only when it is on disk.
func (s *Server) Synced() bool { return s.runner.present().opts.SyncAlways }

// Space returns how many bytes of the disk of the data directory are free for this process, and how many it has. Both
// are 0 if the system does not report them.
func (s *Server) Space() (free, total uint64) { return space(s.DataDir()) }

// Fault returns an [ErrStore] while the server cannot store, nil otherwise.
func (s *Server) Fault() error {
	if fault := s.supervisor.fault.Load(); fault != nil {
		return *fault
	}
	return nil
}

// Resign transfers the leaderships of the server, of streams, consumers and the cluster itself, and returns when
// other servers lead everything that is replicated, or after two seconds. Existing connections work for about
// another second; new ones are refused. Call [Server.Shutdown] next. Without a cluster it does nothing.
func (s *Server) Resign(ctx context.Context) {
	resign(ctx, s.runner.present().Server, s.runner.cfg.Log)
}

// Shutdown stops the server and returns when it has stopped and the data
// directory is free. It may be called more than once.
func (s *Server) Shutdown() {
	s.supervisor.end()
	s.runner.present().stop()
	_ = s.lock.Close()
}
