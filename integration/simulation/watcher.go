package simulation

import (
	"context"
	"errors"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/holdfast-io/holdfast/clients/holdfast"
	"github.com/holdfast-io/holdfast/integration/linear"
)

// watchers receive the events of a trial: one of each side with a plain subscription, and one of the nodes' account with
// Watch, unless the history is shorter than the trial.
type watchers struct {
	*world
	conns []*nats.Conn
	plain []*linear.Events
	// watch is that of Watch, which client has; nil if there is none.
	watch  *linear.Events
	client *holdfast.Client
}

func (w *world) startWatchers() (*watchers, error) {
	g := &watchers{world: w}
	for _, s := range w.trial.sides() {
		who := login(s.user)
		if s.tenant == "" { // an account without a tenant imports no events
			who = w.login()
		}
		nc, err := w.connect("subscriber"+s.String(), 0, who)
		if err != nil {
			return g, err
		}
		g.conns = append(g.conns, nc)
		plain, err := linear.RecordSubscription("subscription"+s.String(), nc, s.prefix, s.tenant)
		if err != nil {
			return g, err
		}
		g.plain = append(g.plain, plain)
	}
	if w.trial.Tuning.CompactCommits > 0 {
		return g, nil
	}
	nc, err := w.connect("watcher", 0, w.login())
	if err != nil {
		return g, err
	}
	g.conns = append(g.conns, nc)
	if g.client, err = holdfast.New(nc, holdfast.Timeout(10*time.Second)); err != nil {
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
	for i, s := range g.trial.sides() {
		plain := g.plain[i]
		plain.Stop()
		g.records["subscription"+s.String()] += min(plain.Count(), 1)
		err = errors.Join(err, plain.Same(g.outcome.Journal))
	}
	return err
}

func (g *watchers) close() {
	for _, nc := range g.conns {
		nc.Close()
	}
}
