package simulation

import (
	"fmt"

	"github.com/nats-io/nats.go"

	"github.com/holdfast-io/holdfast/integration/linear"
)

// load is the clients that lock and unlock, of each side by themselves. They use the same names of resources, owners,
// requests and sessions, so that what is mixed up shows.
type load struct {
	history *linear.History
	sides   []side
	loads   []*linear.Load
	conns   []*nats.Conn
}

// startLoad starts the clients of all sides.
func (w *world) startLoad() (*load, error) {
	l := &load{history: linear.NewHistory(), sides: w.trial.sides()}
	cfg := linear.LoadConfig{
		Shards: w.Shards, Ephemeral: w.trial.Ephemeral, Shared: true, Blocks: true, Pause: w.trial.Pause, History: l.history,
	}
	if len(l.sides) > 1 {
		cfg.Sessions = "session-number"
	}
	for i := range w.trial.Names {
		cfg.Resources = append(cfg.Resources, fmt.Sprint("r", i))
	}
	for i, s := range l.sides {
		before := len(l.conns)
		cfg.Connect = func(client int) (*nats.Conn, error) {
			nc, err := w.connect(fmt.Sprint("c", before+client), w.dice.IntN(len(w.Servers)), login(s.user))
			if err == nil {
				l.conns = append(l.conns, nc)
			}
			return nc, err
		}
		cfg.Prefix, cfg.Tenant, cfg.Identity, cfg.Imported = s.prefix, s.tenant, s.identity, s.imported()
		cfg.Clients, cfg.Seed = (w.trial.Clients+i)/len(l.sides), w.trial.Seed+uint64(i)<<32
		one, err := linear.StartLoad(w.ctx, cfg)
		if err != nil {
			return l, err
		}
		l.loads = append(l.loads, one)
	}
	return l, nil
}

// stop lets the clients finish, and returns what they have seen.
func (l *load) stop() (*linear.History, map[string]int) {
	tally := make(map[string]int)
	for i, one := range l.loads {
		one.Stop()
		for what, n := range one.Tally() {
			tally[what+l.sides[i].String()] += n
		}
	}
	return l.history, tally
}

func (l *load) disconnect() {
	for _, nc := range l.conns {
		nc.Close()
	}
}
