package commands

import (
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/pelletier/go-toml/v2"
	"github.com/spf13/pflag"
	"go.yaml.in/yaml/v3"

	"github.com/holdfast-io/holdfast/actors/node"
	"github.com/holdfast-io/holdfast/cmd/holdfast/internal/cli"
	"github.com/holdfast-io/holdfast/cmd/holdfast/internal/display"
	"github.com/holdfast-io/holdfast/cmd/holdfast/internal/exit"
	"github.com/holdfast-io/holdfast/cmd/holdfast/internal/settings"
	"github.com/holdfast-io/holdfast/jetstream"
	"github.com/holdfast-io/holdfast/messages"
)

// maxTenantsFile bounds a tenants file in bytes.
const maxTenantsFile = 1 << 20

// tenantLimits are the keys of one tenant in a tenants file, with the bounds of the flags of these names.
type tenantLimits struct {
	minTTL, maxTTL, maxDelay     cli.Duration
	maxHeld, maxWaiting, maxRate cli.Number
}

// flags returns the keys.
func (l *tenantLimits) flags() *pflag.FlagSet {
	f := pflag.NewFlagSet("tenant", pflag.ContinueOnError)
	f.Var(&l.minTTL, "min-ttl", "")
	f.Var(&l.maxTTL, "max-ttl", "")
	f.Var(&l.maxDelay, "max-delay", "")
	f.Var(&l.maxHeld, "max-held", "")
	f.Var(&l.maxWaiting, "max-waiting", "")
	f.Var(&l.maxRate, "max-rate", "")
	return f
}

// readTenants reads the tenants file. What a tenant leaves out is as the flags say. It returns nil without a file.
func (s *serve) readTenants() (map[string]node.TenantLimits, error) {
	if s.tenants == "" {
		return nil, nil
	}
	file, err := parseTenants(s.tenants)
	if err != nil {
		return nil, err
	}
	shards := s.shards
	if shards == 0 {
		shards = jetstream.DefaultShards
	}
	if err := node.CheckTenants(len(file), shards); err != nil {
		return nil, fmt.Errorf("%s: %w", display.Name(filepath.Base(s.tenants)), err)
	}
	all := make(map[string]node.TenantLimits, len(file))
	for _, name := range slices.Sorted(maps.Keys(file)) {
		if all[name], err = s.tenant(name, file[name]); err != nil {
			return nil, fmt.Errorf("%s: %w", display.Name(filepath.Base(s.tenants)), err)
		}
	}
	return all, nil
}

// parseTenants returns what a tenants file says, by the name of the tenant.
func parseTenants(path string) (all map[string]map[string]any, err error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("cannot read %q: %w", path, settings.RootCause(err))
	}
	defer func() { _ = file.Close() }()
	data, err := io.ReadAll(io.LimitReader(file, maxTenantsFile+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("cannot read %q: %w", path, settings.RootCause(err))
	case len(data) > maxTenantsFile:
		return nil, fmt.Errorf("%q: at most %d bytes", path, maxTenantsFile)
	}
	switch filepath.Ext(path) {
	case ".yaml", ".yml":
		err = yaml.Unmarshal(data, &all)
	case ".toml":
		err = toml.Unmarshal(data, &all)
	default:
		return nil, fmt.Errorf("a file that ends in .yaml, .yml or .toml, got %q", path)
	}
	if err != nil {
		return nil, fmt.Errorf("cannot parse %q, a table of limits for each account: %w", path, err)
	}
	return all, nil
}

// tenant returns the limits of one tenant.
func (s *serve) tenant(name string, given map[string]any) (node.TenantLimits, error) {
	if err := messages.CheckTenant(name); err != nil {
		return node.TenantLimits{}, err
	}
	l := tenantLimits{s.minTTL, s.maxTTL, s.maxDelay, s.maxHeld, s.maxWaiting, s.maxRate}
	l.maxRate.Value = min(l.maxRate.Value, node.DefaultTenantRate)
	flags := l.flags()
	for _, key := range slices.Sorted(maps.Keys(given)) {
		if err := setLimit(flags, name, key, given[key]); err != nil {
			return node.TenantLimits{}, err
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

// setLimit sets one key of a tenant.
func setLimit(flags *pflag.FlagSet, tenant, key string, value any) error {
	where := display.Name(tenant) + ": "
	flag := flags.Lookup(key)
	if flag == nil {
		var known []string
		flags.VisitAll(func(f *pflag.Flag) { known = append(known, f.Name) })
		if near, ok := cli.Nearest(key, known); ok {
			return fmt.Errorf("%sunknown limit %q; did you mean %q?", where, key, near)
		}
		return fmt.Errorf("%sunknown limit %q; the limits are: %s", where, key, strings.Join(known, ", "))
	}
	text, ok := settings.Scalar(value)
	if !ok {
		return fmt.Errorf("%s%s: one value, not a list, a table or nothing", where, key)
	}
	if err := flag.Value.Set(text); err != nil {
		return fmt.Errorf("%s%w", where, cli.BadValue(key, text, err))
	}
	return nil
}

// checkTenants refuses a tenants file that cannot be used, before anything starts.
func (s *serve) checkTenants(given *settings.Settings) error {
	switch _, err := s.readTenants(); {
	case err != nil:
		return exit.Usagef("%s: %w", given.Given["tenants"], err)
	case s.tenants != "" && !given.Has("nats") && !given.Has("nats-config") && !given.Has("auth"):
		return exit.Usagef("%s needs --auth, --nats or --nats-config: without accounts of NATS there are no tenants", given.Given["tenants"])
	}
	return nil
}

// reloadTenants has the tenants file read again.
func (s *serve) reloadTenants(again *reload, running *node.Node) {
	if s.tenants == "" {
		return
	}
	again.add("tenants", s.tenants, func() error {
		limits, err := s.readTenants()
		if err != nil {
			return err
		}
		return running.SetTenants(limits)
	})
}
