package takeover_test

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/holdfast-io/holdfast/actors"
	"github.com/holdfast-io/holdfast/jetstream"
	"github.com/holdfast-io/holdfast/messages/journal"
)

// tuning has pages written all the time, and the whole journal kept.
var tuning = actors.Tuning{
	CompactBytes: 8 << 10, History: 1 << 30, IdleAfter: 200 * time.Millisecond, StallAfter: time.Second,
}

// rival is a lock node that opens every shard, again and again, without a look at its owner.
type rival struct {
	*storm
	name       string
	system     *actors.System
	deployment *jetstream.Deployment
	log        *slog.Logger
	// present are the shards that it takes requests for.
	present [shards]atomic.Pointer[actors.Shard]
}

// mustRival starts a rival with a connection of its own.
func mustRival(s *storm, name string) *rival {
	s.Helper()
	ctx, cancel := context.WithTimeout(s.Context(), patience)
	defer cancel()
	d, err := jetstream.OpenDeployment(ctx, s.cluster.mustConnect(name), jetstream.DeploymentConfig{
		Prefix: s.prefix, Shards: shards, Replicas: len(s.cluster.servers), Log: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		s.Fatal(err)
	}
	log := slog.New(alarm{Handler: slog.DiscardHandler, storm: s})
	return &rival{storm: s, name: name, system: actors.NewSystem(log), deployment: d, log: log}
}

// take hands a request to a shard, if there is one that takes it.
func (r *rival) take(shard uint32, request *actors.Request) bool {
	s := r.present[shard].Load()
	if s == nil {
		return false
	}
	_, err := s.SendAll([]actors.Request{*request})
	return err == nil
}

// rage lets the rival seize all shards until ctx ends.
func (r *rival) rage(ctx context.Context, stream uint64) {
	var work sync.WaitGroup
	for shard := range uint32(shards) {
		work.Go(func() { r.seize(ctx, shard, newDice(r.seed, stream+uint64(shard))) })
	}
	work.Wait()
	r.system.Close()
}

// seize opens a shard, keeps it for a while, and lets go of it in good order or as a crash would. All
// the while the shard opens itself again whenever a rival has deposed it.
func (r *rival) seize(ctx context.Context, shard uint32, d dice) {
	for ctx.Err() == nil {
		s := r.start(shard, d, d.between(50*time.Millisecond, 900*time.Millisecond))
		r.present[shard].Store(s)
		pause(ctx, d.between(200*time.Millisecond, 4*time.Second))
		r.present[shard].Store(nil)
		r.leave(s, d.chance(50) && ctx.Err() == nil)
	}
}

func (r *rival) start(shard uint32, d dice, reopenAfter time.Duration) *actors.Shard {
	cfg := tuning
	cfg.ReopenAfter = reopenAfter
	journal := actors.Journal(&slow{Journal: r.deployment.Bucket(shard), tally: &r.tally, seed: d.Uint64()})
	if r.plant != nil {
		journal = r.plant(journal)
	}
	return r.system.StartShard(actors.ShardConfig{
		Shard: shard, Node: r.name, Journal: journal, Clock: actors.SystemClock(), Outbox: &r.mail, Log: r.log,
		Tuning: cfg,
	})
}

// closeTimeout is what a shard may take to answer whom it owes one, while servers come and go.
const closeTimeout = 2 * time.Second

func (r *rival) leave(s *actors.Shard, crash bool) {
	ctx, cancel := context.WithTimeout(context.Background(), closeTimeout)
	defer cancel()
	if crash {
		cancel()
	}
	_ = s.Close(ctx) // what it leaves without an answer has none
}

// alarm is a log in which there must be no panic and no corrupt journal. All else that a shard reports
// as an error is that it cannot be opened just now.
type alarm struct {
	slog.Handler
	storm *storm
}

func (a alarm) Enabled(_ context.Context, level slog.Level) bool { return level >= slog.LevelError }
func (a alarm) WithAttrs([]slog.Attr) slog.Handler               { return a }
func (a alarm) WithGroup(string) slog.Handler                    { return a }

func (a alarm) Handle(_ context.Context, line slog.Record) error {
	usual := false
	text := line.Message
	line.Attrs(func(attr slog.Attr) bool {
		text += " " + attr.String()
		if err, ok := attr.Value.Any().(error); ok {
			usual = !errors.Is(err, journal.ErrCorrupt)
		}
		return true
	})
	if !usual {
		a.storm.wrong("logged: %s", text)
	}
	return nil
}
