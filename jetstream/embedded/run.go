package embedded

import (
	"fmt"
	"net/url"
	"strings"
	"syscall"
	"time"

	"github.com/nats-io/nats-server/v2/server"
)

const (
	// slowStart is how long the server reads its store before that is logged: a sound store takes seconds.
	slowStart = 30 * time.Second
	// startTimeout bounds the start after the store was read, which may itself take long.
	startTimeout = 10 * time.Second
	// startPoll is just above the interval below which the server's own waiting would spin.
	startPoll = 26 * time.Millisecond
)

// run starts a NATS server and returns when it accepts connections.
func run(opts *server.Options, lines *serverLogger) (*server.Server, error) {
	running, err := server.NewServer(opts)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrConfig, err)
	}
	running.SetLoggerV2(lines, lines.debugs(), false, false)
	slow := lines.warnOfSlowStart(opts.StoreDir)
	running.Start()
	slow.Stop()
	if err := waitReady(running, lines.fatal); err != nil {
		stop(running)
		return nil, err
	}
	return running, nil
}

// stop returns when the server has stopped. It may be called more than once, and with nil.
func stop(running *server.Server) {
	if running != nil {
		running.Shutdown()
		running.WaitForShutdown()
	}
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

// storelessOptions configures a server of a cluster without storage. It listens for clients because NATS opens
// its routes only then.
func storelessOptions(name, cluster string, routes ...*url.URL) *server.Options {
	return &server.Options{
		ServerName: name,
		Host:       "127.0.0.1",
		Port:       server.RANDOM_PORT,
		Cluster:    server.ClusterOpts{Name: cluster, Host: "127.0.0.1", Port: server.RANDOM_PORT, NoAdvertise: true},
		Routes:     routes,
		NoLog:      true,
		NoSigs:     true,
	}
}
