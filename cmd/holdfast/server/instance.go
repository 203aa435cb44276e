package server

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/holdfast-io/holdfast/actors"
	"github.com/holdfast-io/holdfast/actors/node"
	"github.com/holdfast-io/holdfast/jetstream"
	"github.com/holdfast-io/holdfast/jetstream/embedded"
	"github.com/holdfast-io/holdfast/jetstream/eventlog"
	"github.com/holdfast-io/holdfast/messages"
)

// instance is one run of the node on a NATS server.
type instance struct {
	cfg         Config
	nats        *embedded.Server // nil if NATS is external
	connections *connections
	deployment  atomic.Pointer[deployment]
	streams     localStreams // nil if NATS is external
	node        *node.Node
	// synced is whether an external NATS syncs each write; nil: not known.
	synced atomic.Pointer[bool]
	// looked is what the embedded NATS server last said of its storage.
	looked atomic.Pointer[look]
	// endBackground stops the background tasks and waits for them.
	endBackground func()
}

// deployment is the buckets of a generation of shards.
type deployment struct {
	*jetstream.Deployment
	leadership *jetstream.Leadership // nil if NATS is external
	// present ends when another generation is in use, which replace says.
	present context.Context
	replace context.CancelFunc
}

// start starts everything in the order of its dependencies. If it fails, [Server.Stop] cleans up.
func (i *instance) start(ctx context.Context) error {
	for _, step := range []func(context.Context) error{i.openDeployment, i.startNode} {
		if err := step(ctx); err != nil {
			return err
		}
	}
	i.startBackground()
	return nil
}

func (i *instance) openDeployment(ctx context.Context) (err error) {
	cfg := jetstream.DeploymentConfig{Prefix: i.cfg.Prefix, Shards: i.cfg.Shards, Replicas: i.cfg.Replicas,
		Log: i.cfg.Log}
	if i.nats != nil {
		cfg.Members = i.nats.Members
	}
	d, err := jetstream.OpenDeployment(ctx, i.connections.storage, cfg)
	if err != nil {
		return err
	}
	if i.nats != nil {
		if i.streams, err = i.nats.Streams(i.connections.storage); err != nil {
			return err
		}
	}
	i.use(d)
	if i.nats != nil {
		i.look()
	}
	return nil
}

// use makes a generation of shards the one in use.
func (i *instance) use(d *jetstream.Deployment) {
	now := &deployment{Deployment: d}
	now.present, now.replace = context.WithCancel(context.Background())
	if i.nats != nil {
		now.leadership = jetstream.NewLeadership(d, i.streams)
	}
	if was := i.deployment.Swap(now); was != nil {
		was.replace()
	}
}

// journals are those of a generation of shards.
func (i *instance) journals(d *jetstream.Deployment) *node.Journals {
	return &node.Journals{
		Journal: func(shard uint32) actors.Journal { return d.Bucket(shard) }, Tuning: i.cfg.tuning(d.Shards()).WithDefaults(),
		Try: d.Try, Use: func() { i.use(d) },
	}
}

func (i *instance) startNode(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	retainer, err := i.retainer(ctx)
	if err != nil {
		return err
	}
	cfg, c := i.cfg.Config, i.connections
	d := i.deployment.Load()
	journals := i.journals(d.Deployment)
	cfg.Shards, cfg.Generation, cfg.Tuning, cfg.Journal = d.Shards(), d.Divided().Generation, journals.Tuning, journals.Journal
	if r := d.Register(); r != nil {
		cfg.Register = r
		cfg.Open = func(ctx context.Context, of messages.Shards) (*node.Journals, error) {
			next, err := d.Open(ctx, of)
			if err != nil {
				return nil, err
			}
			return i.journals(next), nil
		}
	}
	if cfg.Clock == nil {
		cfg.Clock = actors.SystemClock()
	}
	cfg.First, cfg.Retainer = i.cfg.isAlone(), retainer
	cfg.Intake, cfg.Outbox, cfg.Events, cfg.Peers = c.intake, c.outbox, c.events, c.peers
	cfg.TransferLeadership = func(ctx context.Context, shard uint32, to string) error {
		return i.deployment.Load().leadership.Transfer(ctx, shard, to)
	}
	if i.nats != nil {
		cfg.Leads, cfg.Fault, cfg.Storage = i.leads, i.nats.Fault, i.storage
		if cfg.Interest, err = i.nats.Interest(i.connections.events); err != nil {
			return err
		}
	}
	i.node, err = node.Start(ctx, cfg)
	return err
}

// retainer returns the event stream, nil if there is none.
func (i *instance) retainer(ctx context.Context) (actors.Publisher, error) {
	cfg := eventlog.Config{
		Prefix: i.cfg.Prefix, Retention: i.cfg.Retention, Replicas: i.deployment.Load().Replicas(), Log: i.cfg.Log,
	}
	if i.nats != nil {
		cfg.Members = i.nats.Members
	}
	stream, err := eventlog.Open(ctx, i.connections.events, cfg)
	if err != nil || stream == nil {
		return nil, err // a nil *eventlog.Stream would be an interface that is not nil
	}
	return stream, nil
}

// startBackground starts the maintenance of the buckets.
func (i *instance) startBackground() {
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	i.endBackground = func() { cancel(); running.Wait() }
	running.Go(func() {
		for ctx.Err() == nil {
			i.maintain(ctx)
		}
	})
	if i.nats == nil {
		running.Go(func() { i.followSyncs(ctx) })
	} else {
		running.Go(func() { i.followStorage(ctx) })
	}
}

// maintain takes care of the buckets of the generation of shards in use, until that is another one or ctx ends.
func (i *instance) maintain(ctx context.Context) {
	d := i.deployment.Load()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stop := context.AfterFunc(d.present, cancel)
	defer stop()
	var running sync.WaitGroup
	running.Go(func() {
		if err := d.Grow(ctx); err != nil && ctx.Err() == nil {
			i.cfg.Log.Error("cannot add the missing replicas", "error", err)
		}
	})
	d.leadership.Follow(ctx, i.node.Owns)
	<-ctx.Done()
	running.Wait()
}

// stop stops the node, so that every request is answered, and leaves the connections that it does not own open. It may
// be called twice.
func (i *instance) stop(ctx context.Context) error {
	if i.endBackground != nil {
		i.endBackground()
	}
	if i.node == nil {
		return nil
	}
	n := i.node
	i.node = nil
	if err := n.Close(ctx); err != nil {
		return fmt.Errorf("the node did not stop cleanly; confirmed changes are safe: %w", err)
	}
	return nil
}
