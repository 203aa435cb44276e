package serve

import (
	"cmp"
	"fmt"
	"time"

	"github.com/spf13/pflag"

	"github.com/holdfast-io/holdfast/actors/node/identity"
	"github.com/holdfast-io/holdfast/cmd/holdfast/internal/cli"
	"github.com/holdfast-io/holdfast/cmd/holdfast/internal/display"
	"github.com/holdfast-io/holdfast/cmd/holdfast/internal/exit"
	"github.com/holdfast-io/holdfast/cmd/holdfast/internal/settings"
	"github.com/holdfast-io/holdfast/cmd/holdfast/server"
	"github.com/holdfast-io/holdfast/jetstream"
	"github.com/holdfast-io/holdfast/messages"
	"github.com/holdfast-io/holdfast/messages/peer"
)

// deployment is the node's place in a deployment, and what all of its nodes have in common.
type deployment struct {
	name, prefix     string
	shards, replicas cli.Number // 0: as the deployment is
	identity         cli.Choice
	retention        cli.Duration
}

func (d *deployment) add(f *pflag.FlagSet) {
	d.shards, d.replicas = cli.NewNumber(0, 1, jetstream.MaxShards), cli.NewNumber(0, 1, cli.MaxReplicas)
	d.retention = cli.NewDuration(0, 0, 10*365*24*time.Hour)
	d.identity = cli.NewChoice(identity.None.String(), identity.Modes()...)
	f.StringVar(&d.name, "name", cli.HostName(), "`NAME` of this node: unique, and the same after a restart")
	f.StringVar(&d.prefix, "prefix", string(messages.DefaultPrefix),
		"`NAME` with which the deployment's subjects begin")
	f.Var(&d.shards, "shards", fmt.Sprintf(
		"number of shards of a deployment that is created; holdfast reshard changes it (default %d)", jetstream.DefaultShards))
	f.Var(&d.replicas, "replicas", "minimum number of NATS servers that store each shard (default 1)")
	f.Var(&d.identity, "identity", "`WHO` the owners of leases are, as NATS verifies it: "+d.identity.List())
	f.Var(&d.retention, "events-retention", "retain events in a stream for this time; 0: no stream")
}

func (d *deployment) check(given *settings.Settings) error {
	if _, err := messages.ParsePrefix(d.prefix); err != nil {
		return cli.BadValue(given.Given["prefix"], d.prefix, err)
	}
	switch {
	case !cli.IsServerName(d.name, peer.MaxNodeNameBytes):
		return exit.Usagef("%s: 1 to %d printable characters without spaces, got %s",
			cmp.Or(given.Given["name"], "--name (this host's)"), peer.MaxNodeNameBytes, display.Quote(d.name))
	case d.identity.Word != identity.None.String() && !requiresLogin(given):
		return exit.Usagef("%s %s needs --server, --nats-config or --auth: without a login NATS verifies no client",
			given.Given["identity"], d.identity.Word)
	case d.retention.Duration != 0 && d.retention.Duration < time.Second:
		return exit.Usagef("%s: 0, or at least 1s, got %s",
			given.Given["events-retention"], display.Duration(d.retention.Duration))
	}
	return nil
}

func (d *deployment) apply(cfg *server.Config) (err error) {
	cfg.Name, cfg.Prefix = d.name, messages.Prefix(d.prefix)
	cfg.Shards, cfg.Replicas = uint32(d.shards.Value), d.replicas.Value
	cfg.Retention = d.retention.Duration
	cfg.Identity, err = identity.ParseMode(d.identity.Word)
	return err
}
