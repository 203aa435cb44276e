package serve

import (
	"github.com/spf13/pflag"

	"github.com/holdfast-io/holdfast/actors"
	"github.com/holdfast-io/holdfast/actors/node"
	"github.com/holdfast-io/holdfast/cmd/holdfast/internal/cli"
	"github.com/holdfast-io/holdfast/cmd/holdfast/internal/display"
	"github.com/holdfast-io/holdfast/cmd/holdfast/internal/exit"
	"github.com/holdfast-io/holdfast/cmd/holdfast/internal/settings"
	"github.com/holdfast-io/holdfast/cmd/holdfast/server"
	"github.com/holdfast-io/holdfast/messages"
)

// million is the unit of the upper bounds. They exceed what a node can do by far, and catch mistakes such as an extra
// zero.
const million = 1_000_000

// The defaults of --max-connections, which is that of NATS, and of --max-subscriptions, which NATS does not bound. The
// node itself has some dozens of subscriptions for each shard.
const (
	defaultConnections   = 64 << 10
	defaultSubscriptions = 100_000
)

// limits bound the leases, the load of a node, and the connections to the embedded NATS server.
type limits struct {
	minTTL, maxTTL, maxDelay               cli.Duration
	maxHeld, maxWaiting, maxQueue, maxRate cli.Number
	maxConnections, maxSubscriptions       cli.Number
}

func (l *limits) add(f *pflag.FlagSet) {
	minTTL, maxTTL := cli.Millis(messages.MinTTLMillis), cli.Millis(messages.MaxTTLMillis)
	maxDelay := cli.Millis(messages.MaxDelayMillis)
	l.minTTL, l.maxTTL = cli.NewDuration(minTTL, minTTL, maxTTL), cli.NewDuration(maxTTL, minTTL, maxTTL)
	l.maxDelay = cli.NewDuration(maxDelay, 0, maxDelay)
	capacity := node.DefaultCapacity()
	l.maxHeld = cli.NewNumber(int(capacity.Held), 1, 100*million)
	l.maxWaiting = cli.NewNumber(int(capacity.Waiting), 1, 10*million)
	l.maxQueue = cli.NewNumber(actors.DefaultTuning().MaxWaiting, 1, million)
	l.maxRate = cli.NewNumber(capacity.Rate, 1, 10*million)
	l.maxConnections = cli.NewNumber(defaultConnections, 16, million)
	l.maxSubscriptions = cli.NewNumber(defaultSubscriptions, defaultSubscriptions, 100*million)
	l.addOfTenant(f)
	f.Var(&l.maxQueue, "max-queue", "waiting requests for one resource")
	f.Var(&l.maxConnections, "max-connections", "connections to the embedded NATS; further ones are refused")
	f.Var(&l.maxSubscriptions, "max-subscriptions", "subscriptions of one such connection; further ones are refused")
}

// addOfTenant adds the limits that each tenant may have for itself.
func (l *limits) addOfTenant(f *pflag.FlagSet) {
	f.Var(&l.minTTL, "min-ttl", "shortest lease allowed")
	f.Var(&l.maxTTL, "max-ttl", "longest lease allowed")
	f.Var(&l.maxDelay, "max-delay", "longest time for which a lost lease may hold its resource back")
	f.Var(&l.maxHeld, "max-held", "leases held on this node; each holder of a shared lock has one")
	f.Var(&l.maxWaiting, "max-waiting", "waiting requests on this node")
	f.Var(&l.maxRate, "max-rate", "requests per second")
}

func (l *limits) check(*settings.Settings) error {
	if l.minTTL.Duration > l.maxTTL.Duration {
		return exit.Usagef("--min-ttl %s is longer than --max-ttl %s",
			display.Duration(l.minTTL.Duration), display.Duration(l.maxTTL.Duration))
	}
	return nil
}

func (l *limits) apply(cfg *server.Config) error {
	cfg.Limits = messages.DefaultLimits()
	cfg.Limits.MinTtlMs, cfg.Limits.MaxTtlMs = l.minTTL.Millis(), l.maxTTL.Millis()
	cfg.Limits.MaxDelayMs = l.maxDelay.Millis()
	cfg.Capacity.Held, cfg.Capacity.Waiting = int64(l.maxHeld.Value), int64(l.maxWaiting.Value)
	cfg.Capacity.Rate = l.maxRate.Value
	cfg.Tuning.MaxWaiting = l.maxQueue.Value
	if cfg.Embedded.ConfigFile == "" { // it has its own
		cfg.Embedded.MaxConnections, cfg.Embedded.MaxSubscriptions = l.maxConnections.Value, l.maxSubscriptions.Value
	}
	return nil
}
