package serve

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/spf13/cobra"

	"github.com/holdfast-io/holdfast/actors/node"
	"github.com/holdfast-io/holdfast/cmd/holdfast/internal/exit"
	"github.com/holdfast-io/holdfast/cmd/holdfast/internal/systemd"
	"github.com/holdfast-io/holdfast/cmd/holdfast/server"
	"github.com/holdfast-io/holdfast/jetstream"
	"github.com/holdfast-io/holdfast/jetstream/embedded"
	"github.com/holdfast-io/holdfast/jetstream/eventlog"
	"github.com/holdfast-io/holdfast/jetstream/natsconn"
)

// run runs a node until the context of the command ends or the node fails.
func (s *serve) run(cmd *cobra.Command) (err error) {
	cfg, err := s.load(cmd)
	if err != nil {
		return err
	}
	s.warnOfExposed(cfg)
	again := newReload(cfg.Log)
	monitor, err := s.monitoring.start(cfg, again)
	if err != nil {
		again.stop()
		return err
	}
	defer func() {
		again.stop()
		err = errors.Join(err, monitor.stop())
	}()
	ctx := cmd.Context()
	stopTraces, err := s.startTraces(ctx, cfg)
	if err != nil {
		return err
	}
	defer stopTraces()
	spaceCollections()
	resting, active := context.WithCancel(ctx)
	defer active()
	go returnMemory(resting)
	if cfg.Capacity.Crowded != nil {
		watchMemory(cfg.Capacity.Crowded)
	}
	running, err := server.Start(ctx, *cfg)
	switch {
	case err != nil && ctx.Err() != nil:
		return nil // interrupted before the node was ready
	case err != nil:
		return &exit.Error{Code: startCode(err), Err: s.explain(err)}
	}
	s.tenants.reload(again, running.Node())
	if cfg.NATS == nil {
		addProcessors(running.Deployment().Shards())
	}
	if files := natsFiles(cfg); files != "" {
		again.add("NATS", files, running.Reload)
	}
	if err := monitor.started(running); err != nil {
		return errors.Join(err, running.Stop())
	}
	if err := s.announce(cmd.OutOrStdout(), running, monitor); err != nil {
		return errors.Join(err, running.Stop())
	}
	stop := systemd.Serve(ctx, cfg.Log)
	defer stop()
	return running.Wait(ctx)
}

// tracesStopTimeout bounds the export of the last traces.
const tracesStopTimeout = 5 * time.Second

// startTraces begins the export of traces, if the program has one, and returns what ends it.
func (s *serve) startTraces(ctx context.Context, cfg *server.Config) (stop func(), err error) {
	if s.trace == nil {
		return func() {}, nil
	}
	end, err := s.trace(ctx, cfg)
	if err != nil {
		return nil, &exit.Error{Code: exit.Usage, Err: err}
	}
	return func() {
		ctx, cancel := context.WithTimeout(context.Background(), tracesStopTimeout)
		defer cancel()
		if err := end(ctx); err != nil {
			cfg.Log.Warn("the last traces were not exported", "error", err)
		}
	}, nil
}

// startCode returns the exit code for an error of the start.
func startCode(err error) int {
	switch {
	case errors.Is(err, embedded.ErrConfig), errors.Is(err, jetstream.ErrConfig), errors.Is(err, node.ErrName):
		return exit.Usage
	case errors.Is(err, natsconn.ErrConnect):
		return exit.Unavailable
	}
	return exit.Unexpected
}

// explain adds to an error of the start which flag can correct it.
func (s *serve) explain(err error) error {
	logins := s.embedded.logins()
	switch {
	case errors.Is(err, eventlog.ErrUnusable):
		return fmt.Errorf("%w (--events-retention)", err)
	case logins == "" || !errors.Is(err, natsconn.ErrConnect):
		return err
	case errors.Is(err, nats.ErrAuthorization):
		return fmt.Errorf("%w: %s does not permit this user; "+
			"give --creds, --nkey, or --user and --password of one that it permits", natsconn.ErrConnect, logins)
	}
	return fmt.Errorf("%w; if %s requires a login, give --creds, --nkey, or --user and --password", err, logins)
}
