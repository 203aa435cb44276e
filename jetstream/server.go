package jetstream

import (
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/gofrs/flock"
	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
)

const (
	// startTimeout bounds the start after the store was read, which may itself take long.
	startTimeout = 10 * time.Second
	// startPoll is just above the interval below which the server's own waiting would spin.
	startPoll = 26 * time.Millisecond
)

// Server is a NATS server with JetStream in this process.
type Server struct {
	cfg    ServerConfig
	opts   *server.Options
	server *server.Server
	lock   *flock.Flock
	log    *slog.Logger
	rival  <-chan string // says that another member of the cluster has this one's name
	// company is there while the one member of a cluster elects itself; nil else.
	company *server.Server
	// resigned is done once.
	resigned sync.Once
}

// StartServer starts a NATS server that syncs every write, and returns when it takes connections. That
// of a cluster is of use after [Server.AwaitQuorum]. The errors [ErrConfig], [ErrListen] and [ErrDataDir] say what to change.
func StartServer(cfg ServerConfig) (*Server, error) {
	opts, err := cfg.options()
	if err != nil {
		return nil, err
	}
	lock, err := lockDataDir(opts.StoreDir)
	if err != nil {
		return nil, err
	}
	s := &Server{cfg: cfg, opts: opts, lock: lock, log: cfg.Log}
	if s.log == nil {
		s.log = slog.Default()
	}
	err = checkHistory(opts)
	if err == nil && cfg.ConfigFile == "" {
		err = found(opts)
	}
	if err == nil {
		err = s.start()
	}
	if err != nil {
		_ = lock.Close()
		return nil, err
	}
	return s, nil
}

func (s *Server) start() error {
	running, err := server.NewServer(s.opts)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrConfig, err)
	}
	log := newServerLogger(s.log)
	s.rival = log.rival
	running.SetLoggerV2(log, log.debugs(), false, false)
	if !s.opts.SyncAlways {
		log.Warnf("JetStream does not sync every write: a power cut can lose locks that were granted")
	}
	running.Start()
	err = waitReady(running, log.fatal)
	if err == nil {
		err = s.keepCompany()
	}
	if err != nil {
		running.Shutdown()
		running.WaitForShutdown()
		return err
	}
	s.server = running
	return nil
}

// waitReady waits until the server takes connections, or has said why it never will.
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
	return fmt.Errorf("the NATS server does not take connections after %v", startTimeout)
}

// startError makes an error of the server's last line.
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
	all := append(connectOptions(s.cfg.Name, s.cfg.Log), nats.InProcessServer(s.server))
	nc, err := nats.Connect("", append(all, opts...)...)
	if err != nil {
		return nil, fmt.Errorf("%w of this process (does its configuration ask for authentication?): %w", ErrConnect, err)
	}
	return nc, nil
}

// ClientURL returns where clients on this host connect: nats://127.0.0.1:4222.
func (s *Server) ClientURL() string {
	return s.server.ClientURL()
}

// DataDir returns the directory that holds the data.
func (s *Server) DataDir() string {
	return s.opts.StoreDir
}

// Shutdown stops the server and returns when it has stopped and the data
// directory is free. It may be called more than once.
func (s *Server) Shutdown() {
	s.endCompany()
	s.server.Shutdown()
	s.server.WaitForShutdown()
	_ = s.lock.Close()
}
