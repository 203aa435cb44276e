package serve

import (
	"sync/atomic"

	"github.com/spf13/pflag"

	"github.com/holdfast-io/holdfast/actors"
	"github.com/holdfast-io/holdfast/cmd/holdfast/internal/cli"
	"github.com/holdfast-io/holdfast/cmd/holdfast/internal/settings"
	"github.com/holdfast-io/holdfast/cmd/holdfast/server"
)

// defaultRemembered is the default of --max-remembered.
const defaultRemembered = 1_000_000

// memory is what a node keeps beside the locks that are held.
type memory struct {
	maxRemembered, history cli.Number
	// pending and crowded are bounds by the memory of a control group; zero without one.
	pending int64
	crowded *atomic.Bool
}

func (m *memory) add(f *pflag.FlagSet) {
	m.maxRemembered = cli.NewNumber(defaultRemembered, 1, 100*million)
	m.history = cli.NewNumber(actors.DefaultTuning().History, 1, 10*million)
	f.Var(&m.maxRemembered, "max-remembered", "free resources to remember in the whole deployment; the oldest are forgotten first")
	f.Var(&m.history, "history", "commits to retain per shard for journal readers")
}

func (m *memory) check(*settings.Settings) error { return nil } // each flag has its bounds

func (m *memory) apply(cfg *server.Config) error {
	cfg.Remembered, cfg.Tuning.History = m.maxRemembered.Value, m.history.Value
	cfg.Capacity.Pending, cfg.Capacity.Crowded = m.pending, m.crowded
	return nil
}
