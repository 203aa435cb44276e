package serve

import (
	"log/slog"
	"os"
	"runtime/debug"
	"sync/atomic"

	"github.com/spf13/pflag"

	"github.com/holdfast-io/holdfast/actors"
	"github.com/holdfast-io/holdfast/actors/node"
	"github.com/holdfast-io/holdfast/cmd/holdfast/internal/cli"
	"github.com/holdfast-io/holdfast/cmd/holdfast/internal/settings"
	"github.com/holdfast-io/holdfast/cmd/holdfast/server"
)

// defaultRemembered is the default of --max-remembered.
const defaultRemembered = 1_000_000

// The memory of a node in bytes: a base, and an amount for each held lock, each waiting request and each
// remembered free resource. They are measured; see docs/decisions/memory.md.
const (
	memoryBase           = 256 << 20
	memoryEachHeld       = 1700
	memoryEachWaiting    = 512
	memoryEachRemembered = 160
	// memoryEachPending is 16 times as much as a request on its way takes: they have a sixteenth of the memory.
	memoryEachPending = 64 << 10
)

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
	f.Var(&m.maxRemembered, "max-remembered",
		"free resources to remember in the whole deployment; the oldest are forgotten first")
	f.Var(&m.history, "history", "commits to retain per shard for journal readers")
}

func (m *memory) check(*settings.Settings) error { return nil } // each flag has its bounds

func (m *memory) apply(cfg *server.Config) error {
	cfg.Remembered, cfg.Tuning.History = m.maxRemembered.Value, m.history.Value
	cfg.Capacity.Pending, cfg.Capacity.Crowded = m.pending, m.crowded
	return nil
}

// limitMemory sets a soft limit that matches the node's limits, so that the garbage collector keeps the process below
// it. One node may own all shards, so what the deployment remembers counts in full. What fits into the control group
// bounds the limit, and the limits that nobody has chosen. GOMEMLIMIT takes precedence.
func (m *memory) limitMemory(l *limits, given *settings.Settings, group int64, log *slog.Logger) {
	available, need := group/5*4, m.footprint(l) // the group pays for buffers of the kernel and pages of files, too
	if base := min(memoryBase, available/2); need > available {
		share := float64(available-base) / float64(need-memoryBase)
		for flag, number := range map[string]*cli.Number{
			"max-held": &l.maxHeld, "max-waiting": &l.maxWaiting, "max-remembered": &m.maxRemembered,
		} {
			if given.Given[flag] == "" {
				number.Value = int(min(share, 1) * float64(number.Value))
			} else if share < 1 {
				log.Warn("a limit is more than fits into the control group: OVERLOADED may come before it is reached; "+
					"lower it, or raise the limit of the group", "setting", given.Given[flag], "value", number.Value,
					"fits", int(share*float64(number.Value)), "group_bytes", group)
			}
		}
		m.pending, m.crowded = min(node.DefaultCapacity().Pending, available/memoryEachPending), new(atomic.Bool)
	}
	if os.Getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(min(need, available))
	}
}

// footprint returns how many bytes the limits take.
func (m *memory) footprint(l *limits) int64 {
	return memoryBase + memoryEachHeld*int64(l.maxHeld.Value) + memoryEachWaiting*int64(l.maxWaiting.Value) +
		memoryEachRemembered*int64(m.maxRemembered.Value)
}
