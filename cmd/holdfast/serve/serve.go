// Package serve is the command that runs a node. Its settings are sections: each has its flags, its rules, and the part
// of the configuration that it fills.
package serve

import (
	"context"
	"log/slog"
	"os"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/holdfast-io/holdfast/actors"
	"github.com/holdfast-io/holdfast/actors/node"
	"github.com/holdfast-io/holdfast/cmd/holdfast/internal/cli"
	"github.com/holdfast-io/holdfast/cmd/holdfast/internal/settings"
	"github.com/holdfast-io/holdfast/cmd/holdfast/server"
)

// Tracing lets a node that is about to start export its traces, and returns what ends that. An error is one of the
// settings, and ends the start.
type Tracing func(ctx context.Context, cfg *server.Config) (stop func(context.Context) error, err error)

// serve is the command with its settings.
type serve struct {
	version    string
	trace      Tracing // nil: no traces are exported
	embedded   embeddedNATS
	external   externalNATS
	tls        tls
	login      login
	deployment deployment
	tenants    tenants
	limits     limits
	memory     memory
	monitoring monitoring
	logging    logging
	file       string // the configuration file
}

func newServe(version string, trace Tracing) *serve {
	s := &serve{version: version, trace: trace}
	s.tenants.deployment, s.tenants.limits = &s.deployment, &s.limits
	s.external.tls, s.external.login = &s.tls, &s.login
	return s
}

// New returns the command of the program with this version. trace may be nil.
func New(version string, trace Tracing) *cobra.Command {
	s := newServe(version, trace)
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Run a node, with an embedded or an external NATS server",
		Long: `Runs a node. Without flags, a NATS server with JetStream runs in the same
process, for programs on this host. With --cluster-listen and --routes that
server is a member of a cluster, and --replicas 3 stores the locks on three
members. The flags of TLS and --auth let other hosts in, with certificates and
logins. --nats-config configures that server by a file of NATS instead. --server
uses an existing NATS server.

On SIGHUP a node reads certificates, logins, tenants, the NATS configuration and
the audit file again. Leases and connections stay.

Every flag is also an environment variable, --min-ttl HOLDFAST_MIN_TTL, and a
key of the configuration file, min-ttl; see: holdfast help configuration.`,
		Example: `  holdfast serve
  holdfast serve --listen 127.0.0.1:4333 --data /var/lib/holdfast
  holdfast serve --name n1 --listen 127.0.0.1:4222 --data ./data/n1 --replicas 3 \
      --cluster-listen 127.0.0.1:6222 --routes 127.0.0.1:6222,127.0.0.1:6223,127.0.0.1:6224
  holdfast serve --listen 0.0.0.0:4222 --tls-cert server.pem --tls-key server-key.pem \
      --auth users.conf --nkey node.nk
  holdfast serve --server nats://nats.example.com --creds holdfast.creds --replicas 3`,
		Args:              cli.NoArguments,
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE:              func(cmd *cobra.Command, _ []string) error { return s.run(cmd) },
	}
	s.addFlags(cmd)
	return cmd
}

func (s *serve) addFlags(cmd *cobra.Command) {
	cmd.Flags().SetNormalizeFunc(currentName)
	for _, section := range s.sections() {
		cli.AddTopicFlags(cmd, section.title, section.topic, section.add)
	}
	cmd.Flags().VisitAll(func(f *pflag.Flag) { settings.SetEnv(f, settings.Variable(f.Name)) })
	settings.SetEnv(cmd.Flag(serverFlag), settings.Variable(serverFlag), settings.Variable(formerServerFlag))
	cli.AddFlags(cmd, cli.SectionOther, func(f *pflag.FlagSet) {
		variable := settings.Variable(settings.ConfigFlag)
		f.StringVar(&s.file, settings.ConfigFlag, "", "settings `FILE`, in YAML or TOML [$"+variable+"]")
		settings.SetEnv(f.Lookup(settings.ConfigFlag), variable)
		_ = cobra.MarkFlagFilename(f, settings.ConfigFlag, settings.Extensions...) // the flag exists
	})
}

// currentName accepts the name that a flag had in earlier versions. Help does not show it.
func currentName(_ *pflag.FlagSet, name string) pflag.NormalizedName {
	if name == formerServerFlag {
		name = serverFlag
	}
	return pflag.NormalizedName(name)
}

// check refuses settings that contradict one another or cannot work, before anything starts.
func (s *serve) check(given *settings.Settings) error {
	for _, section := range s.sections() {
		if err := section.check(given); err != nil {
			return err
		}
	}
	return nil
}

// config returns the settings in the form in which a server takes them.
func (s *serve) config(log *slog.Logger) (*server.Config, error) {
	cfg := &server.Config{Config: node.Config{
		Version: s.version, Tuning: actors.DefaultTuning(), Log: log,
	}}
	for _, section := range s.sections() {
		if err := section.apply(cfg); err != nil {
			return nil, err
		}
	}
	return cfg, nil
}

// load returns the configuration that the command line, the environment and the configuration file give.
func (s *serve) load(cmd *cobra.Command) (*server.Config, error) {
	given, err := settings.Load(cmd.Flags())
	if err != nil {
		return nil, err
	}
	if err := s.check(given); err != nil {
		return nil, err
	}
	log, err := s.logging.open(cmd.ErrOrStderr())
	if err != nil {
		return nil, err
	}
	for _, name := range settings.Strangers(cmd.Root(), os.Environ()) {
		log.Warn("unknown environment variable", "variable", name)
	}
	s.memory.limitMemory(&s.limits, given, groupLimit(os.DirFS("/")), log)
	return s.config(log)
}
