package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/holdfast-io/holdfast/actors"
	"github.com/holdfast-io/holdfast/actors/node"
	"github.com/holdfast-io/holdfast/jetstream"
	"github.com/holdfast-io/holdfast/messages"
)

const (
	// startTimeout bounds the start of the node, once NATS can do its part: the leases of a full shard are
	// read in seconds. A cluster without a quorum is waited for without a bound, for its members are
	// started by other hands.
	startTimeout = 2 * time.Minute
	// stopTimeout bounds a clean stop: long enough for every answer on its way, and short enough for
	// whoever waits for the process to end.
	stopTimeout = 10 * time.Second
	// nodeStopTimeout is the node's share of it; the rest is for NATS to hand its leaderships over and stop.
	nodeStopTimeout = 7 * time.Second
)

// server is a running node with all that belongs to it.
type server struct {
	settings *serve
	log      *slog.Logger
	embedded *jetstream.Server // nil if NATS is elsewhere
	// intake takes requests, outbox sends answers, events publishes them, peers speaks to other nodes,
	// storage keeps the journals. They are five, so that a flood on one does not hold up the others.
	intake, outbox, events, peers, storage *nats.Conn

	deployment *jetstream.Deployment
	leadership *jetstream.Leadership // nil if NATS is elsewhere
	node       *node.Node
	// background ends, and waits for, what goes on beside the node.
	background func()
}

// startServer starts everything in the order in which one rests on the other. What it has started it
// stops again if something fails.
func startServer(ctx context.Context, s *serve, log *slog.Logger) (*server, error) {
	r := &server{settings: s, log: log}
	for _, step := range []func(context.Context) error{r.startNATS, r.connect, r.openDeployment, r.startNode, r.startBackground} {
		if err := step(ctx); err != nil {
			return nil, errors.Join(err, r.stop())
		}
	}
	return r, nil
}

func (r *server) startNATS(ctx context.Context) (err error) {
	s := r.settings
	if s.nats != "" {
		return nil
	}
	cfg := jetstream.ServerConfig{
		Name:          s.name,
		Listen:        s.listen,
		ClusterListen: s.clusterListen,
		Routes:        s.routes,
		ClusterName:   s.prefix,
		AllowRemote:   s.allowRemote,
		DataDir:       s.data,
		ConfigFile:    s.natsConfig,
		UnsafeSync:    s.unsafeSync,
		Log:           slog.New(subdued{r.log.Handler()}),
	}
	if cfg.ConfigFile != "" {
		cfg.Listen, cfg.DataDir = "", "" // the defaults; the file decides
	}
	if r.embedded, err = jetstream.StartServer(cfg); err != nil {
		return err
	}
	return r.embedded.AwaitQuorum(ctx)
}

func (r *server) connect(context.Context) (err error) {
	for _, c := range []struct {
		conn    *(*nats.Conn)
		role    string
		options []nats.Option
	}{{&r.intake, "intake", nil}, {&r.outbox, "outbox", nil}, {&r.events, "events", []nats.Option{nats.NoEcho()}}, {&r.peers, "peers", nil}, {&r.storage, "storage", nil}} {
		if *c.conn, err = r.dial("holdfast "+r.settings.name+" "+c.role, c.options...); err != nil {
			return err
		}
	}
	return nil
}

func (r *server) dial(name string, options ...nats.Option) (*nats.Conn, error) {
	s := r.settings
	options = append(append(options, s.login()...), nats.Name(name))
	if r.embedded == nil {
		return jetstream.Connect(jetstream.ExternalConfig{
			URL: s.nats, Creds: s.creds, NKey: s.nkey, CA: s.tlsCA, Cert: s.tlsCert, Key: s.tlsKey,
			Name: name, Log: r.log,
		}, options...)
	}
	if s.creds != "" {
		options = append(options, nats.UserCredentials(s.creds))
	}
	if s.nkey != "" {
		key, err := nats.NkeyOptionFromSeed(s.nkey)
		if err != nil {
			return nil, usage("--nkey: a file with an nkey's seed, got %q: %w", s.nkey, err)
		}
		options = append(options, key)
	}
	nc, err := r.embedded.Connect(options...)
	if errors.Is(err, nats.ErrAuthorization) {
		return nil, fmt.Errorf("%w: %s does not let this user in; give --creds, --nkey, or --user and --password of one that it has",
			jetstream.ErrConnect, s.natsConfig)
	}
	if err != nil && s.natsConfig != "" {
		return nil, fmt.Errorf("%w; if %s asks for a login, give --creds, --nkey, or --user and --password",
			err, s.natsConfig)
	}
	return nc, err
}

// login is what NATS in this process and NATS elsewhere are told alike.
func (s *serve) login() []nats.Option {
	if s.user == "" {
		return nil
	}
	return []nats.Option{nats.UserInfo(s.user, s.password)}
}

func (r *server) openDeployment(ctx context.Context) (err error) {
	s := r.settings
	cfg := jetstream.DeploymentConfig{Prefix: messages.Prefix(s.prefix), Shards: s.shards, Replicas: s.replicas, Log: r.log}
	if r.embedded != nil {
		cfg.Members = r.embedded.Members
	}
	if r.deployment, err = jetstream.OpenDeployment(ctx, r.storage, cfg); err != nil || r.embedded == nil {
		return err
	}
	r.leadership, err = r.embedded.Leadership(r.deployment)
	return err
}

// startBackground starts what a node does for its buckets besides writing them.
func (r *server) startBackground(context.Context) error {
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	r.background = func() { cancel(); running.Wait() }
	running.Go(func() {
		if err := r.deployment.Grow(ctx); err != nil && ctx.Err() == nil {
			r.log.Error("the deployment keeps its replicas", "error", err)
		}
	})
	running.Go(func() { r.leadership.Follow(ctx, r.node.Owns) })
	return nil
}

func (r *server) startNode(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	s, deployment := r.settings, r.deployment
	retainer, err := r.retainer(ctx, deployment)
	if err != nil {
		return err
	}
	limitMemory(s.capacity(), s.maxRemembered.value)
	r.node, err = node.Start(ctx, node.Config{
		Name:     s.name,
		Version:  programVersion(),
		Prefix:   messages.Prefix(s.prefix),
		Shards:   deployment.Shards(),
		Limits:   s.limits(),
		Tuning:   s.tuning(deployment.Shards()),
		Capacity: s.capacity(),
		Journal:  func(shard uint32) actors.Journal { return deployment.Bucket(shard) },
		Clock:    actors.SystemClock(),
		Intake:   r.intake,
		Outbox:   r.outbox,
		Events:   r.events,
		Retainer: retainer,
		Peers:    r.peers,
		First:    r.embedded != nil && s.natsConfig == "" && s.clusterListen == "",
		Leads:    r.leadership.Leads,
		Cede:     r.leadership.Cede,
		Fault:    r.fault,
		Log:      r.log,
	})
	return err
}

// retainer stores events. It is nil if they are not to be stored.
func (r *server) retainer(ctx context.Context, d *jetstream.Deployment) (actors.Publisher, error) {
	stream, err := d.Events(ctx, r.events, jetstream.EventsConfig{Retention: r.settings.retention.Duration, Log: r.log})
	switch {
	case errors.Is(err, jetstream.ErrEventStream):
		return nil, fmt.Errorf("%w (--events-retention)", err)
	case err != nil || stream == nil:
		return nil, err
	}
	return stream, nil
}

// fault is what keeps the NATS in this process from storing, nil for nothing or if NATS is elsewhere.
func (r *server) fault() error {
	if r.embedded == nil {
		return nil
	}
	return r.embedded.Fault()
}

// wait returns when ctx ends and the server has stopped cleanly, or when it cannot go on.
func (r *server) wait(ctx context.Context) error {
	select {
	case <-ctx.Done():
		r.log.Info("stopping", "reason", context.Cause(ctx), "bound", stopTimeout)
		return r.stop()
	case <-r.node.Lost():
		if err := r.node.Err(); err != nil {
			return errors.Join(err, r.stop())
		}
		return errors.Join(fmt.Errorf("NATS has closed the connection for good: %w", r.reason()), r.stop())
	}
}

// reason is the last complaint of the connections that the node lives on.
func (r *server) reason() error {
	for _, nc := range []*nats.Conn{r.intake, r.outbox, r.events, r.peers} {
		if err := nc.LastError(); err != nil {
			return err
		}
	}
	return nats.ErrConnectionClosed
}

// stop ends everything in the reverse order: first the node, so that whoever has asked is answered, then
// what its NATS leads in a cluster, then the connections, then NATS. It takes no longer than stopTimeout.
func (r *server) stop() error {
	over := time.NewTimer(stopTimeout)
	defer over.Stop()
	done := make(chan error, 1)
	go func() { done <- r.stopAll() }()
	select {
	case err := <-done:
		return err
	case <-over.C:
		return fmt.Errorf("NATS has not stopped within %s; what was confirmed is safe", readable(stopTimeout))
	}
}

func (r *server) stopAll() error {
	if r.background != nil {
		r.background()
	}
	err := r.stopNode()
	if r.embedded != nil {
		r.embedded.Resign(context.Background()) // while it can still hand on what others ask of it
	}
	for _, nc := range []*nats.Conn{r.intake, r.outbox, r.events, r.peers, r.storage} {
		if nc != nil {
			nc.Close() // those of the node are drained already, and nobody waits for anything of the last
		}
	}
	if r.embedded != nil {
		r.embedded.Shutdown()
	}
	return err
}

func (r *server) stopNode() error {
	if r.node == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), nodeStopTimeout)
	defer cancel()
	if err := r.node.Close(ctx); err != nil {
		return fmt.Errorf("the node has not stopped cleanly, though what was confirmed is safe: %w", err)
	}
	return nil
}

// url is where clients find NATS.
func (r *server) url() string {
	if r.embedded != nil {
		return r.embedded.ClientURL()
	}
	return withoutSecrets(r.settings.nats)
}

// data says where the locks are kept.
func (r *server) data() string {
	if r.embedded != nil {
		return shown(r.embedded.DataDir())
	}
	return "the JetStream of " + shown(r.storage.ConnectedServerName())
}
