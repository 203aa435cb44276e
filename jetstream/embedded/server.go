package embedded

import (
	"fmt"
	"log/slog"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/gofrs/flock"
	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"

	"github.com/holdfast-io/holdfast/jetstream/natsconn"
)

const (
	// startTimeout bounds the start after the store was read, which may itself take long.
	startTimeout = 10 * time.Second
	// startPoll is just above the interval below which the server's own waiting would spin.
	startPoll = 26 * time.Millisecond
	// pingInProcess is the ping interval of connections within the process. No network can fail between
	// their ends. A late answer means a busy process, and to give the connection up would lose its requests.
	pingInProcess = time.Minute
)

// Server is a NATS server with JetStream in this process.
type Server struct {
	cfg  Config
	lock *flock.Flock
	log  *slog.Logger
	// instance is the present run of the NATS server; a restart replaces it.
	instance atomic.Pointer[instance]
	fault    fault
	// endSupervision stops the supervisor and waits for it.
	endSupervision func()
}

// instance is one run of the NATS server.
type instance struct {
	*server.Server
	opts  *server.Options
	lines *serverLogger
	// helper runs while the only member of a cluster elects itself; nil otherwise.
	helper   *server.Server
	resigned sync.Once
}

// Start starts a NATS server that syncs every write, and returns when it accepts connections. Call
// [Server.AwaitQuorum] before using a member of a cluster. The errors are [ErrConfig], [ErrListen], [ErrRoutes] and
// [ErrDataDir]; each says what to change.
func Start(cfg Config) (*Server, error) {
	opts, err := cfg.options()
	if err != nil {
		return nil, err
	}
	lock, err := lockDataDir(opts.StoreDir)
	if err != nil {
		return nil, err
	}
	s := &Server{cfg: cfg, lock: lock, log: cfg.Log}
	if s.log == nil {
		s.log = slog.Default()
	}
	err = checkHistory(opts)
	if err == nil && cfg.ConfigFile == "" {
		err = bootstrap(opts)
	}
	if err == nil {
		err = s.start(opts)
	}
	if err != nil {
		_ = lock.Close()
		return nil, err
	}
	s.startSupervision()
	return s, nil
}

// start starts a new instance and returns when it accepts connections.
func (s *Server) start(opts *server.Options) error {
	running, err := server.NewServer(opts)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrConfig, err)
	}
	n := &instance{Server: running, opts: opts, lines: newServerLogger(s.log)}
	n.SetLoggerV2(n.lines, n.lines.debugs(), false, false)
	if !opts.SyncAlways {
		n.lines.Warnf("JetStream does not sync every write: a power cut can lose locks that were granted")
	}
	n.Start()
	err = waitReady(running, n.lines.fatal)
	if err == nil {
		err = n.startHelper()
	}
	if err != nil {
		n.stop()
		return err
	}
	s.instance.Store(n)
	return nil
}

// nats is the present instance.
func (s *Server) nats() *instance { return s.instance.Load() }

// stop returns when the instance has stopped. It may be called more than once.
func (n *instance) stop() {
	n.stopHelper()
	n.Shutdown()
	n.WaitForShutdown()
}

// waitReady waits until the server accepts connections, or has logged a fatal error.
func waitReady(running *server.Server, fatal <-chan string) error {
	for deadline := time.Now().Add(startTimeout); time.Now().Before(deadline); {
		select {
		case line := <-fatal:
			return startError(line)
		default:
		}
		if running.ReadyForConnections(startPoll) {
			return nil
		}
	}
	return fmt.Errorf("the NATS server does not accept connections after %v", startTimeout)
}

// startError turns the server's fatal line into an error.
func startError(line string) error {
	switch {
	case strings.Contains(line, syscall.EADDRINUSE.Error()):
		return fmt.Errorf("%w: another program listens there; stop it, or choose another port: %s", ErrListen, line)
	case strings.Contains(line, "listening on"):
		return fmt.Errorf("%w: %s", ErrListen, line)
	default:
		return fmt.Errorf("the NATS server cannot start: %s", line)
	}
}

// Connect connects within the process, without the network. If the configuration file asks for
// authentication, the options must provide it.
func (s *Server) Connect(opts ...nats.Option) (*nats.Conn, error) {
	all := append(natsconn.Options(s.cfg.Name, s.cfg.Log), nats.InProcessServer(s), nats.PingInterval(pingInProcess))
	nc, err := nats.Connect("", append(all, opts...)...)
	if err != nil {
		return nil, fmt.Errorf("%w of this process (does its configuration ask for authentication?): %w", natsconn.ErrConnect, err)
	}
	return nc, nil
}

// InProcessConn connects to the present instance, so that connections within the process survive a
// restart of it as those over the network do.
func (s *Server) InProcessConn() (net.Conn, error) {
	conn, err := s.nats().InProcessConn()
	if err != nil {
		return nil, err
	}
	return &handshake{Conn: conn}, nil
}

// ClientURL returns the URL for clients on this host: nats://127.0.0.1:4222.
func (s *Server) ClientURL() string {
	return s.nats().ClientURL()
}

// DataDir returns the directory that holds the data.
func (s *Server) DataDir() string {
	return s.nats().opts.StoreDir
}

// Shutdown stops the server and returns when it has stopped and the data
// directory is free. It may be called more than once.
func (s *Server) Shutdown() {
	s.endSupervision()
	s.nats().stop()
	_ = s.lock.Close()
}
