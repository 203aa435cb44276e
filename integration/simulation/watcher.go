package simulation

import (
	"context"
	"errors"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/holdfast-io/holdfast/clients/holdfast"
	"github.com/holdfast-io/holdfast/integration/linear"
	"github.com/holdfast-io/holdfast/messages"
)

// watchers receive the events of a trial: one with a plain subscription, and one with Watch, unless the history is
// shorter than the trial.
type watchers struct {
	*world
	conns []*nats.Conn
	plain *linear.Events
	// watch is that of Watch, which client has; nil if there is none.
	watch  *linear.Events
	client *holdfast.Client
}

func (w *world) startWatchers() (*watchers, error) {
	g := &watchers{world: w}
	for _, process := range []string{"subscriber", "watcher"} {
		nc, err := w.connect(process, 0)
		if err != nil {
			return g, err
		}
		g.conns = append(g.conns, nc)
	}
	var err error
	g.plain, err = linear.RecordSubscription("subscription", g.conns[0], messages.DefaultPrefix, "")
	if err != nil || w.trial.Tuning.CompactCommits > 0 {
		return g, err
	}
	g.client, err = holdfast.New(g.conns[1], holdfast.Timeout(10*time.Second))
	if err != nil {
		return g, err
	}
	g.watch = linear.RecordWatch(w.ctx, "watch", g.client)
	return g, nil
}

// stop lets Watch receive what there is, ends all, and compares what they received with the journal, whose times are
// still those that the nodes wrote. The nodes have stopped: Watch needs JetStream alone.
func (g *watchers) stop() (err error) {
	ctx, cancel := context.WithTimeout(g.ctx, settling)
	defer cancel()
	if g.watch != nil {
		err = g.watch.Await(ctx, g.outcome.Journal)
		g.watch.Stop()
		err = errors.Join(err, g.watch.Same(g.outcome.Journal), g.client.Close(ctx))
		g.records["watch"] += min(g.watch.Count(), 1)
	}
	g.plain.Stop()
	g.records["subscription"] += min(g.plain.Count(), 1)
	return errors.Join(err, g.plain.Same(g.outcome.Journal))
}

func (g *watchers) close() {
	for _, nc := range g.conns {
		nc.Close()
	}
}
