package commands

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"

	"github.com/nats-io/nats.go"

	"github.com/holdfast-io/holdfast/actors"
	"github.com/holdfast-io/holdfast/actors/node"
	"github.com/holdfast-io/holdfast/actors/node/identity"
	"github.com/holdfast-io/holdfast/cmd/holdfast/internal/exit"
	"github.com/holdfast-io/holdfast/cmd/holdfast/server"
	"github.com/holdfast-io/holdfast/jetstream/embedded"
	"github.com/holdfast-io/holdfast/jetstream/eventlog"
	"github.com/holdfast-io/holdfast/jetstream/natsconn"
	"github.com/holdfast-io/holdfast/messages"
)

// config returns the settings in the form in which a server takes them.
func (s *serve) config(log *slog.Logger) (server.Config, error) {
	cfg := server.Config{
		Name:       s.name,
		Version:    programVersion(),
		Prefix:     messages.Prefix(s.prefix),
		Shards:     s.shards,
		Replicas:   s.replicas,
		Limits:     s.limits(),
		Capacity:   s.capacity(),
		Tuning:     s.tuning(),
		Remembered: s.maxRemembered.Value,
		Retention:  s.retention.Duration,
		Log:        log,
	}
	mode, err := identity.ParseMode(s.identity.Word)
	if err != nil {
		return cfg, err
	}
	cfg.Identity = mode
	if cfg.Tenants, err = s.readTenants(); err != nil {
		return cfg, exit.Usagef("--tenants: %w", err)
	}
	if s.user != "" {
		cfg.Login = append(cfg.Login, nats.UserInfo(s.user, s.password))
	}
	if s.remote.URL != "" {
		external := s.remote
		external.Creds, external.NKey = s.creds, s.nkey
		external.CA, external.Cert, external.Key = s.local.TLS.CA, s.local.TLS.Cert, s.local.TLS.Key
		cfg.External = &external
		return cfg, nil
	}
	cfg.Embedded = s.embedded()
	if s.creds != "" {
		cfg.Login = append(cfg.Login, nats.UserCredentials(s.creds))
	}
	if s.nkey != "" {
		key, err := nats.NkeyOptionFromSeed(s.nkey)
		if err != nil {
			return cfg, exit.Usagef("--nkey: a file with an nkey's seed, got %q: %w", s.nkey, err)
		}
		cfg.Login = append(cfg.Login, key)
	}
	return cfg, nil
}

func (s *serve) embedded() embedded.Config {
	cfg := s.local
	if cfg.ConfigFile != "" {
		cfg.Listen, cfg.DataDir = "", "" // the file sets both
		return cfg
	}
	cfg.MaxConnections, cfg.MaxSubscriptions = s.maxConnections.Value, s.maxSubscriptions.Value
	return cfg
}

// natsFiles names the files that the embedded NATS server can read again, empty for none.
func (s *serve) natsFiles() string {
	if s.remote.URL != "" {
		return ""
	}
	files := []string{s.local.ConfigFile, s.local.AuthFile}
	for _, tls := range []embedded.TLSFiles{s.local.TLS, s.local.ClusterTLS} {
		files = append(files, tls.Cert, tls.Key, tls.CA)
	}
	return strings.Join(slices.DeleteFunc(files, func(file string) bool { return file == "" }), ", ")
}

func (s *serve) capacity() node.Capacity {
	return node.Capacity{Held: int64(s.maxHeld.Value), Waiting: int64(s.maxWaiting.Value), Rate: s.maxRate.Value,
		Pending: s.pending, Crowded: s.crowded}
}

// The defaults of --max-connections, which is that of NATS, and of --max-subscriptions, which NATS does not bound. The node
// itself has some dozens of subscriptions for each shard.
const (
	defaultConnections   = 64 << 10
	defaultSubscriptions = 100_000
)

// defaultRemembered is the default of --max-remembered.
const defaultRemembered = 1_000_000

func (s *serve) tuning() actors.Tuning {
	t := actors.DefaultTuning()
	t.MaxWaiting, t.Remember = s.maxQueue.Value, s.remember.Duration
	t.History, t.IdleAfter = s.history.Value, s.idleAfter.Duration
	return t
}

func (s *serve) limits() *messages.Limits {
	l := messages.DefaultLimits()
	l.MinTtlMs, l.MaxTtlMs = s.minTTL.Millis(), s.maxTTL.Millis()
	l.MaxDelayMs = s.maxDelay.Millis()
	return l
}

// explain adds to an error of the start which flag can correct it.
func (s *serve) explain(err error) error {
	switch {
	case errors.Is(err, eventlog.ErrUnusable):
		return fmt.Errorf("%w (--events-retention)", err)
	case s.logins() == "" || !errors.Is(err, natsconn.ErrConnect):
		return err
	case errors.Is(err, nats.ErrAuthorization):
		return fmt.Errorf("%w: %s does not permit this user; give --creds, --nkey, or --user and --password of one that it permits",
			natsconn.ErrConnect, s.logins())
	}
	return fmt.Errorf("%w; if %s requires a login, give --creds, --nkey, or --user and --password", err, s.logins())
}

// logins returns the file that says who may log in to the embedded NATS server, empty for none.
func (s *serve) logins() string { return cmp.Or(s.local.AuthFile, s.local.ConfigFile) }
