package embedded

import (
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"regexp"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"

	"github.com/holdfast-io/holdfast/jetstream/natsconn"
)

// trialTimeout bounds the trial of a login.
const trialTimeout = 10 * time.Second

// Reload reads the files of the [Config] again and applies them: certificates, logins, and what else NATS can change
// while it runs. An error, which is an [ErrConfig] or an [ErrCertificate] where a file is to blame, says what to
// change; then nothing has changed. It is an error if the server would not admit [Config.Login] any more.
func (s *Server) Reload() error {
	r := s.runner
	r.changing.Lock()
	defer r.changing.Unlock()
	n := r.present()
	if !n.Running() {
		return errors.New("NATS in this process is stopped, and reads the files when it starts again")
	}
	opts, err := r.optionsAgain()
	if err != nil {
		return err
	}
	if err := n.ReloadOptions(opts); err != nil {
		return reloadError(err)
	}
	next := *n
	next.opts = opts
	r.instance.Store(&next)
	return nil
}

// unsupported is how NATS refuses the change of a setting. The rest of the line has both values.
var unsupported = regexp.MustCompile(`^config reload not supported for (\w+)`)

func reloadError(err error) error {
	if setting := unsupported.FindStringSubmatch(err.Error()); setting != nil {
		return fmt.Errorf("%w: NATS cannot change %s while it runs; set it back, or restart this node", ErrConfig,
			setting[1])
	}
	return fmt.Errorf("%w: %w", ErrConfig, err)
}

// optionsAgain returns the settings for the present instance or for the next one, with which the login of this process
// has been tried.
func (r *runner) optionsAgain() (*server.Options, error) {
	before := r.present().opts
	trial, err := r.cfg.optionsAgain(before)
	if err != nil {
		return nil, err
	}
	account, err := tryLogin(trial, r.cfg.Login)
	if err != nil {
		return nil, err
	}
	if used := r.account.Load(); used != nil && *used != account {
		return nil,
			fmt.Errorf("%w: the user of this node is in the account %s now, and its locks are in %s; leave it there",
				ErrConfig, account, *used)
	}
	return r.cfg.optionsAgain(before) // a resolver of accounts belongs to one server
}

// tryLogin returns the account to which this process can log in on a server with these options, and an [ErrConfig] if
// there is none that it can use. It runs such a server, alone and without the network.
func tryLogin(opts *server.Options, login []nats.Option) (account string, err error) {
	dir, err := os.MkdirTemp(opts.StoreDir, "trial-")
	if err != nil {
		return "", dataDirError(opts.StoreDir, err)
	}
	defer func() { _ = os.RemoveAll(dir) }()
	running, err := run(trialOptions(opts, dir), newServerLogger(slog.New(slog.DiscardHandler)))
	if err != nil {
		return "", err
	}
	defer stop(running)
	all := append([]nats.Option{nats.InProcessServer(inProcess{running}), nats.NoReconnect(),
		nats.Timeout(trialTimeout)}, login...)
	nc, err := nats.Connect("", all...)
	if err != nil {
		return "", fmt.Errorf(
			"%w: %s does not admit the login of this node; give --creds, --nkey, or --user and --password of a user "+
				"with all permissions there: %w", ErrConfig, opts.ConfigFile, err)
	}
	defer nc.Close()
	id, err := nc.GetClientID()
	if err != nil {
		return "", err
	}
	used := running.GetClient(id).Account()
	if !used.JetStreamEnabled() {
		return "",
			fmt.Errorf(
				"%w: %s: the account of this node's user has no JetStream, where Holdfast keeps its locks; "+
					"write jetstream: enabled in that account",
				ErrConfig, opts.ConfigFile)
	}
	return used.GetName(), nil
}

// trialOptions returns the part of the options that concerns logins.
func trialOptions(opts *server.Options, dir string) *server.Options {
	trial := opts.Clone()
	trial.ServerName += "-trial"
	trial.DontListen, trial.Host, trial.Port = true, "127.0.0.1", server.RANDOM_PORT
	trial.StoreDir, trial.SyncAlways = dir, false
	trial.Cluster, trial.Gateway, trial.LeafNode, trial.Routes = server.ClusterOpts{}, server.GatewayOpts{},
		server.LeafNodeOpts{}, nil
	trial.Websocket, trial.MQTT = server.WebsocketOpts{}, server.MQTTOpts{}
	trial.HTTPPort, trial.HTTPSPort, trial.ProfPort = 0, 0, 0
	trial.PidFile, trial.PortsFileDir, trial.LogFile = "", "", ""
	trial.CustomRouterAuthentication = nil
	return trial
}

// inProcess connects to one server.
type inProcess struct{ *server.Server }

// InProcessConn implements [nats.InProcessConnProvider]. What the connection delivers is [natsconn.Bounded].
func (p inProcess) InProcessConn() (net.Conn, error) {
	conn, err := p.Server.InProcessConn()
	if err != nil {
		return nil, err
	}
	return natsconn.Bounded(&handshake{Conn: conn}), nil
}
