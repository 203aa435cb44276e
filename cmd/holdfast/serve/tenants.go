package serve

import (
	"cmp"
	"fmt"
	"maps"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/holdfast-io/holdfast/actors/node"
	"github.com/holdfast-io/holdfast/cmd/holdfast/internal/display"
	"github.com/holdfast-io/holdfast/cmd/holdfast/internal/exit"
	"github.com/holdfast-io/holdfast/cmd/holdfast/internal/settings"
	"github.com/holdfast-io/holdfast/cmd/holdfast/server"
	"github.com/holdfast-io/holdfast/jetstream"
	"github.com/holdfast-io/holdfast/messages"
)

// maxTenantsFile bounds a tenants file in bytes.
const maxTenantsFile = 1 << 20

// tenants is the file with the accounts that have resources of their own. A limit that a tenant does not have is that
// of the flag of the same name.
type tenants struct {
	file       string
	deployment *deployment
	limits     *limits
}

func (t *tenants) add(f *pflag.FlagSet) {
	f.StringVar(&t.file, "tenants", "",
		"`FILE` with the accounts that have resources of their own, and their limits, in YAML or TOML")
	_ = cobra.MarkFlagFilename(f, "tenants", settings.Extensions...) // the flag exists
}

// check refuses a tenants file that cannot be used.
func (t *tenants) check(given *settings.Settings) error {
	switch _, err := t.read(); {
	case err != nil:
		return exit.Usagef("%s: %w", given.Given["tenants"], err)
	case t.file != "" && !requiresLogin(given):
		return exit.Usagef("%s needs --auth, --server or --nats-config: without accounts of NATS there are no tenants",
			given.Given["tenants"])
	}
	return nil
}

func (t *tenants) apply(cfg *server.Config) (err error) {
	if cfg.Tenants, err = t.read(); err != nil {
		return exit.Usagef("--tenants: %w", err)
	}
	return nil
}

// read reads the file. It returns nil without a file.
func (t *tenants) read() (map[string]node.TenantLimits, error) {
	if t.file == "" {
		return nil, nil
	}
	var file map[string]map[string]any
	err := settings.ReadFile(t.file, "a table of limits for each account", maxTenantsFile, &file)
	if err != nil {
		return nil, err
	}
	shards := cmp.Or(uint32(t.deployment.shards.Value), jetstream.DefaultShards)
	if err := node.CheckTenants(len(file), shards); err != nil {
		return nil, fmt.Errorf("%s: %w", display.Name(filepath.Base(t.file)), err)
	}
	all := make(map[string]node.TenantLimits, len(file))
	for _, name := range slices.Sorted(maps.Keys(file)) {
		if all[name], err = t.tenant(name, file[name]); err != nil {
			return nil, fmt.Errorf("%s: %w", display.Name(filepath.Base(t.file)), err)
		}
	}
	return all, nil
}

// tenant returns the limits of one tenant.
func (t *tenants) tenant(name string, given map[string]any) (node.TenantLimits, error) {
	if err := messages.CheckTenant(name); err != nil {
		return node.TenantLimits{}, err
	}
	l := *t.limits
	l.maxRate.Value = min(l.maxRate.Value, node.DefaultTenantRate)
	flags := pflag.NewFlagSet("tenant", pflag.ContinueOnError)
	l.addOfTenant(flags)
	var known []string
	flags.VisitAll(func(f *pflag.Flag) { known = append(known, f.Name) })
	for _, key := range slices.Sorted(maps.Keys(given)) {
		f, err := settings.Find(flags, key, "limit", known)
		if err == nil {
			err = settings.Assign(f, given[key], key)
		}
		if err != nil {
			return node.TenantLimits{}, fmt.Errorf("%s: %w", display.Name(name), err)
		}
	}
	if l.minTTL.Duration > l.maxTTL.Duration {
		return node.TenantLimits{}, fmt.Errorf("%s: min-ttl %s is longer than max-ttl %s", display.Name(name),
			display.Duration(l.minTTL.Duration), display.Duration(l.maxTTL.Duration))
	}
	limits := messages.DefaultLimits()
	limits.MinTtlMs, limits.MaxTtlMs, limits.MaxDelayMs = l.minTTL.Millis(), l.maxTTL.Millis(), l.maxDelay.Millis()
	return node.TenantLimits{
		Held: int64(l.maxHeld.Value), Waiting: int64(l.maxWaiting.Value), Rate: l.maxRate.Value, Limits: limits,
	}, nil
}

// reload has the file read again.
func (t *tenants) reload(again *reload, running *node.Node) {
	if t.file == "" {
		return
	}
	again.add("tenants", t.file, func() error {
		limits, err := t.read()
		if err != nil {
			return err
		}
		return running.SetTenants(limits)
	})
}
