package commands

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"sync/atomic"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/holdfast-io/holdfast/actors"
	"github.com/holdfast-io/holdfast/actors/node"
	"github.com/holdfast-io/holdfast/actors/node/identity"
	"github.com/holdfast-io/holdfast/cmd/holdfast/internal/cli"
	"github.com/holdfast-io/holdfast/cmd/holdfast/internal/connect"
	"github.com/holdfast-io/holdfast/cmd/holdfast/internal/display"
	"github.com/holdfast-io/holdfast/cmd/holdfast/internal/exit"
	"github.com/holdfast-io/holdfast/cmd/holdfast/internal/settings"
	"github.com/holdfast-io/holdfast/cmd/holdfast/internal/systemd"
	"github.com/holdfast-io/holdfast/cmd/holdfast/server"
	"github.com/holdfast-io/holdfast/jetstream"
	"github.com/holdfast-io/holdfast/jetstream/embedded"
	"github.com/holdfast-io/holdfast/jetstream/natsconn"
	"github.com/holdfast-io/holdfast/messages"
	"github.com/holdfast-io/holdfast/messages/peer"
)

// serve is the command that runs a node, with its settings.
type serve struct {
	program *Program
	// local is the NATS server in this process, and remote another one.
	local               embedded.Config
	remote              natsconn.Config
	creds, nkey         string
	user, password      string
	name, prefix        string
	shards              uint32
	replicas            int
	minTTL, maxTTL      cli.Duration
	maxDelay            cli.Duration
	maxHeld, maxWaiting cli.Number
	maxConnections      cli.Number
	maxSubscriptions    cli.Number
	maxQueue, maxRate   cli.Number
	remember, idleAfter cli.Duration
	maxRemembered       cli.Number
	history             cli.Number
	retention           cli.Duration
	identity            cli.Choice
	logLevel, logFormat cli.Choice
	file, tenants       string
	monitor             monitorFlags
	// pending and crowded are bounds by the memory of a control group; zero without one.
	pending int64
	crowded *atomic.Bool
}

func newServe(p *Program) *cobra.Command {
	least, most := cli.Millis(messages.MinTTLMillis), cli.Millis(messages.MaxTTLMillis)
	s := &serve{
		program:   p,
		minTTL:    cli.NewDuration(least, least, most),
		maxTTL:    cli.NewDuration(most, least, most),
		maxDelay:  cli.NewDuration(cli.Millis(messages.MaxDelayMillis), 0, cli.Millis(messages.MaxDelayMillis)),
		identity:  identityFlag(),
		logLevel:  cli.NewChoice("info", "debug", "info", "warn", "error"),
		logFormat: cli.NewChoice("text", "text", "json"),
	}
	s.setBounds()
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Run a node, with an embedded or an external NATS server",
		Long: `Runs a node. Without flags, a NATS server with JetStream runs in the same process,
for programs on this host. With --cluster-listen and --routes that server is a
member of a cluster, and --replicas 3 stores the locks on three members. The flags
of TLS and --auth let other hosts in, with certificates and logins. --nats-config
configures that server by a file of NATS instead. --nats uses an existing NATS
server.

On SIGHUP a node reads certificates, logins, tenants, the NATS configuration and the
audit file again. Leases and connections stay.

Every flag is also an environment variable, --min-ttl HOLDFAST_MIN_TTL, and a key
of the configuration file, min-ttl; see: holdfast help configuration.`,
		Example: `  holdfast serve
  holdfast serve --listen 127.0.0.1:4333 --data /var/lib/holdfast
  holdfast serve --name n1 --listen 127.0.0.1:4222 --data ./data/n1 --replicas 3 \
      --cluster-listen 127.0.0.1:6222 --routes 127.0.0.1:6222,127.0.0.1:6223,127.0.0.1:6224
  holdfast serve --listen 0.0.0.0:4222 --tls-cert server.pem --tls-key server-key.pem \
      --auth users.conf --nkey node.nk
  holdfast serve --nats nats://nats.example.com --creds holdfast.creds --replicas 3`,
		Args:              cli.NoArguments,
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE:              func(cmd *cobra.Command, _ []string) error { return s.run(cmd) },
	}
	s.addFlags(cmd)
	s.addCompletions(cmd)
	return cmd
}

func identityFlag() cli.Choice { return cli.NewChoice(identity.None.String(), identity.Modes()...) }

// setBounds sets the defaults and bounds of what an operator may tune. The upper bounds exceed what a node can
// do by far; they catch mistakes such as an extra zero.
func (s *serve) setBounds() {
	const million = 1_000_000
	tuning, capacity := actors.DefaultTuning(), node.DefaultCapacity()
	s.maxConnections = cli.NewNumber(defaultConnections, 16, million)
	s.maxSubscriptions = cli.NewNumber(defaultSubscriptions, defaultSubscriptions, 100*million)
	s.maxHeld = cli.NewNumber(int(capacity.Held), 1, 100*million)
	s.maxWaiting = cli.NewNumber(int(capacity.Waiting), 1, 10*million)
	s.maxQueue = cli.NewNumber(tuning.MaxWaiting, 1, million)
	s.maxRate = cli.NewNumber(capacity.Rate, 1, 10*million)
	s.remember = cli.NewDuration(tuning.Remember, time.Second, 10*365*24*time.Hour)
	s.maxRemembered = cli.NewNumber(defaultRemembered, 1, 100*million)
	s.idleAfter = cli.NewDuration(tuning.IdleAfter, 100*time.Millisecond, 24*time.Hour)
	s.retention = cli.NewDuration(0, 0, 10*365*24*time.Hour)
	s.history = cli.NewNumber(tuning.History, 1, 10*million)
}

func (s *serve) addFlags(cmd *cobra.Command) {
	cli.AddFlags(cmd, "Embedded NATS", func(f *pflag.FlagSet) {
		f.StringVar(&s.local.Listen, "listen", "127.0.0.1:4222", "address for clients, `HOST:PORT`; port 0 takes any free one")
		f.StringVar(&s.local.DataDir, "data", "./data", "data directory, `DIR`; created if it is missing")
		f.StringVar(&s.local.AuthFile, "auth", "", "`FILE` with the logins of clients: the sections of a NATS configuration about users")
		f.StringVar(&s.local.ConfigFile, "nats-config", "", "NATS configuration `FILE`, instead of --listen, --data, --auth and TLS")
		f.StringVar(&s.local.ClusterListen, "cluster-listen", "", "address for the other members of the cluster, `HOST:PORT`")
		f.StringSliceVar(&s.local.Routes, "routes", nil, "comma-separated `LIST` of every member's --cluster-listen; the same on all")
		f.BoolVar(&s.local.AllowRemote, "allow-remote", false, "accept connections of other hosts although no login is required")
		f.Var(&s.maxConnections, "max-connections", "connections of clients; further ones are refused")
		f.Var(&s.maxSubscriptions, "max-subscriptions", "subscriptions of one connection; further ones are refused")
		f.BoolVar(&s.local.UnsafeSync, "unsafe-sync", false, "do not sync every write: faster, but a power failure loses locks")
	})
	cli.AddFlags(cmd, "External NATS", func(f *pflag.FlagSet) {
		f.StringVar(&s.remote.URL, "nats", "", "`URL` of NATS; several are separated by commas")
		f.BoolVar(&s.remote.First, "tls-first", false, "begin with TLS, for a server with handshake_first")
		f.StringVar(&s.remote.Inbox, "inbox-prefix", "", "`SUBJECT` with which the subjects of answers to this node begin (default _INBOX)")
	})
	cli.AddFlags(cmd, "TLS: certificates of the embedded NATS; with --nats, of this client", func(f *pflag.FlagSet) {
		f.StringVar(&s.local.TLS.Cert, "tls-cert", "", "`FILE` with the certificate")
		f.StringVar(&s.local.TLS.Key, "tls-key", "", "`FILE` with its private key")
		f.StringVar(&s.local.TLS.CA, "tls-ca", "", "`FILE` with the certificate authorities to trust")
		f.BoolVar(&s.local.TLS.Verify, "tls-verify", false, "require a certificate of --tls-ca from clients")
		f.StringVar(&s.local.ClusterTLS.Cert, "cluster-tls-cert", "", "`FILE` with the certificate for other members (default --tls-cert)")
		f.StringVar(&s.local.ClusterTLS.Key, "cluster-tls-key", "", "`FILE` with its private key")
		f.StringVar(&s.local.ClusterTLS.CA, "cluster-tls-ca", "", "`FILE` with the authority of members; what it signs can become a member")
	})
	cli.AddFlags(cmd, "Login to NATS, where it is required", func(f *pflag.FlagSet) {
		f.StringVar(&s.creds, "creds", "", "credentials `FILE`")
		f.StringVar(&s.nkey, "nkey", "", "`FILE` with an nkey seed")
		f.StringVar(&s.user, "user", "", "user `NAME`")
		f.StringVar(&s.password, "password", "", "its `PASSWORD`; HOLDFAST_PASSWORD keeps it out of ps")
	})
	cli.AddFlags(cmd, "Deployment", func(f *pflag.FlagSet) {
		f.StringVar(&s.name, "name", cli.HostName(), "`NAME` of this node: unique, and the same after a restart")
		f.StringVar(&s.prefix, "prefix", string(messages.DefaultPrefix), "`NAME` with which the deployment's subjects begin")
		f.Uint32Var(&s.shards, "shards", 0, fmt.Sprintf("`NUMBER` of shards, fixed when the deployment is created (default %d, for a node without cluster %d)", jetstream.DefaultShards, jetstream.DefaultShardsAlone))
		f.IntVar(&s.replicas, "replicas", 0, "minimum `NUMBER` of NATS servers that store each shard (default 1)")
		f.Var(&s.identity, "identity", "who the owners of leases are, as NATS has verified it, `WHO`: "+s.identity.List())
		f.StringVar(&s.tenants, "tenants", "", "`FILE` with the accounts that have resources of their own, and their limits, in YAML or TOML")
		f.Var(&s.minTTL, "min-ttl", "shortest lease allowed")
		f.Var(&s.maxTTL, "max-ttl", "longest lease allowed")
		f.Var(&s.maxDelay, "max-delay", "longest time for which a lost lease may hold its resource back")
		f.Var(&s.retention, "events-retention", "retain events in a stream for this time; 0: no stream (default 0)")
	})
	cli.AddFlags(cmd, "Limits; beyond them the answer is OVERLOADED", func(f *pflag.FlagSet) {
		f.Var(&s.maxHeld, "max-held", "leases held on this node; each holder of a shared lock has one")
		f.Var(&s.maxWaiting, "max-waiting", "waiting requests on this node")
		f.Var(&s.maxQueue, "max-queue", "waiting requests for one resource")
		f.Var(&s.maxRate, "max-rate", "requests per second")
	})
	cli.AddFlags(cmd, "Memory", func(f *pflag.FlagSet) {
		f.Var(&s.remember, "remember", "minimum time to remember the last token of a free resource")
		f.Var(&s.maxRemembered, "max-remembered", "free resources to remember in the whole deployment; the oldest are forgotten first")
		f.Var(&s.history, "history", "commits to retain per shard for journal readers")
		f.Var(&s.idleAfter, "idle-after", "evict an idle resource from memory after this time")
	})
	cli.AddFlags(cmd, "Monitoring", s.monitor.add)
	cli.AddFlags(cmd, cli.SectionOutput, func(f *pflag.FlagSet) {
		f.Var(&s.logLevel, "log-level", "minimum `LEVEL` of the log: "+s.logLevel.List())
		f.Var(&s.logFormat, "log-format", "log `FORMAT`: "+s.logFormat.List())
	})
	cmd.Flags().VisitAll(func(f *pflag.Flag) { settings.SetEnv(f, settings.Variable(f.Name)) })
	cli.AddFlags(cmd, cli.SectionOther, func(f *pflag.FlagSet) {
		f.StringVar(&s.file, settings.ConfigFlag, "", "settings `FILE`, in YAML or TOML [$"+settings.Variable(settings.ConfigFlag)+"]")
		settings.SetEnv(f.Lookup(settings.ConfigFlag), settings.Variable(settings.ConfigFlag))
	})
}

func (s *serve) addCompletions(cmd *cobra.Command) {
	must(cmd.RegisterFlagCompletionFunc("identity", cobra.FixedCompletions(s.identity.Words, cobra.ShellCompDirectiveNoFileComp)))
	must(cmd.RegisterFlagCompletionFunc("log-level", cobra.FixedCompletions(s.logLevel.Words, cobra.ShellCompDirectiveNoFileComp)))
	must(cmd.RegisterFlagCompletionFunc("log-format", cobra.FixedCompletions(s.logFormat.Words, cobra.ShellCompDirectiveNoFileComp)))
	must(cmd.RegisterFlagCompletionFunc("http-page", cobra.FixedCompletions(s.monitor.httpPage.Words, cobra.ShellCompDirectiveNoFileComp)))
	must(cmd.MarkFlagDirname("data"))
	for _, file := range []string{settings.ConfigFlag, "tenants"} {
		must(cmd.MarkFlagFilename(file, "yaml", "yml", "toml"))
	}
}

// must panics on an error that only a mistake in this package can cause.
func must(err error) {
	if err != nil {
		panic(err)
	}
}

func (s *serve) run(cmd *cobra.Command) (err error) {
	given, err := settings.Load(cmd.Flags())
	if err != nil {
		return err
	}
	if err := s.check(given); err != nil {
		return err
	}
	log, err := newLogger(cmd.ErrOrStderr(), s.logLevel.Word, s.logFormat.Word)
	if err != nil {
		return err
	}
	for _, name := range settings.Strangers(cmd.Root(), os.Environ()) {
		log.Warn("unknown environment variable", "variable", name)
	}
	s.warnOfExposed(log)
	s.limitMemory(given, groupLimit(os.DirFS("/")), log)
	cfg, err := s.config(log)
	if err != nil {
		return err
	}
	again := newReload(log)
	watcher, err := s.monitor.start(s.name, cfg.Prefix, given.Given["http"] != "", again, log)
	if err != nil {
		again.stop()
		return err
	}
	defer func() {
		again.stop()
		err = errors.Join(err, watcher.stop())
	}()
	watcher.watch(&cfg)
	stopTraces, err := s.startTraces(cmd.Context(), &cfg)
	if err != nil {
		return err
	}
	defer stopTraces()
	spaceCollections()
	if s.crowded != nil {
		watchMemory(s.crowded)
	}
	ctx := cmd.Context()
	running, err := server.Start(ctx, cfg)
	switch {
	case err != nil && ctx.Err() != nil:
		return nil // interrupted before the node was ready
	case err != nil:
		return &exit.Error{Code: startCode(err), Err: s.explain(err)}
	}
	s.reloadTenants(again, running.Node())
	if s.remote.URL == "" {
		addProcessors(running.Deployment().Shards())
	}
	if err := watcher.started(ctx, running); err != nil {
		return errors.Join(err, running.Stop())
	}
	if files := s.natsFiles(); files != "" {
		again.add("NATS", files, running.Reload)
	}
	if err := s.announce(cmd.OutOrStdout(), running, watcher); err != nil {
		return errors.Join(err, running.Stop())
	}
	stop := systemd.Serve(ctx, log)
	defer stop()
	return running.Wait(ctx)
}

// tracesStopTimeout bounds the export of the last traces.
const tracesStopTimeout = 5 * time.Second

// startTraces begins the export of traces, if the program has one, and returns what ends it.
func (s *serve) startTraces(ctx context.Context, cfg *server.Config) (stop func(), err error) {
	if s.program.Trace == nil {
		return func() {}, nil
	}
	end, err := s.program.Trace(ctx, cfg)
	if err != nil {
		return nil, &exit.Error{Code: exit.Usage, Err: err}
	}
	return func() {
		ctx, cancel := context.WithTimeout(context.Background(), tracesStopTimeout)
		defer cancel()
		if err := end(ctx); err != nil {
			cfg.Log.Warn("the last traces were not exported", "error", err)
		}
	}, nil
}

// startCode returns the exit code for an error of the start.
func startCode(err error) int {
	switch {
	case errors.Is(err, embedded.ErrConfig), errors.Is(err, jetstream.ErrConfig), errors.Is(err, node.ErrName):
		return exit.Usage
	case errors.Is(err, natsconn.ErrConnect):
		return exit.Unavailable
	}
	return exit.Unexpected
}

// check refuses settings that contradict one another or cannot work, before anything starts.
func (s *serve) check(given *settings.Settings) error {
	clusterTLS := []string{"cluster-tls-cert", "cluster-tls-key", "cluster-tls-ca"}
	byFlags := append([]string{"listen", "data", "auth", "cluster-listen", "routes", "allow-remote", "tls-verify"}, clusterTLS...)
	inProcess := append([]string{"nats-config", "unsafe-sync", "max-connections", "max-subscriptions"}, byFlags...)
	return cmp.Or(
		given.Exclude("nats", inProcess, "one is for an external NATS, the other for the embedded one"),
		given.Exclude("nats-config", append([]string{"tls-cert", "tls-key", "tls-ca"}, byFlags...),
			"the NATS configuration sets the addresses, the data directory, TLS and the logins"),
		given.Exclude("nats-config", []string{"max-connections", "max-subscriptions"},
			"the NATS configuration has max_connections and max_subscriptions"),
		given.Require("nats", []string{"tls-first", "inbox-prefix"}, "they are for an external NATS"),
		connect.CheckInboxPrefix(given.Given["inbox-prefix"], s.remote.Inbox),
		given.Require("cluster-listen", []string{"routes"}, "the other members connect to this one too"),
		given.Require("cluster-listen", clusterTLS, "they are for the members of a cluster"),
		given.Require("routes", []string{"cluster-listen"}, "a member connects to the others"),
		given.Exclude("creds", []string{"nkey", "user"}, "choose one way to log in"),
		given.Exclude("nkey", []string{"user"}, "choose one way to log in"),
		given.Require("tls-cert", []string{"tls-key"}, "a key requires its certificate"),
		given.Require("tls-key", []string{"tls-cert"}, "a certificate requires its key"),
		s.checkTLS(given),
		given.Together("the three belong together", clusterTLS...),
		given.Require("user", []string{"password"}, "a password requires a user"),
		given.Require("password", []string{"user"}, "a user requires a password"),
		s.checkLogin(given),
		given.CheckFiles("nats-config", "auth", "creds", "nkey", "tls-ca", "tls-cert", "tls-key"),
		given.CheckFiles("cluster-tls-ca", "cluster-tls-cert", "cluster-tls-key"),
		s.monitor.check(given),
		s.checkDeployment(given),
		s.checkTenants(given),
	)
}

// checkTLS refuses certificates that are incomplete.
func (s *serve) checkTLS(given *settings.Settings) error {
	if given.Has("tls-verify") && !given.Has("tls-ca") {
		return exit.Usagef("%s needs --tls-ca: the authority that signs the certificates of clients", given.Given["tls-verify"])
	}
	if given.Has("nats") {
		return nil
	}
	return given.Require("tls-cert", []string{"tls-verify", "tls-ca"}, "the embedded NATS needs a certificate of its own for TLS")
}

func (s *serve) checkLogin(given *settings.Settings) error {
	if given.Has("nats") || given.Has("nats-config") || given.Has("auth") {
		return nil
	}
	for _, flag := range []string{"creds", "nkey", "user"} {
		if given.Has(flag) {
			return exit.Usagef("%s needs --nats, --nats-config or --auth: without them no login is required", given.Given[flag])
		}
	}
	if s.identity.Word != identity.None.String() {
		return exit.Usagef("%s %s needs --nats, --nats-config or --auth: without a login NATS verifies no client", given.Given["identity"], s.identity.Word)
	}
	return nil
}

func (s *serve) checkDeployment(given *settings.Settings) error {
	if _, err := messages.ParsePrefix(s.prefix); err != nil {
		return cli.BadValue(given.Given["prefix"], s.prefix, err)
	}
	switch {
	case !isNodeName(s.name):
		return exit.Usagef("%s: 1 to %d printable characters without spaces, got %s",
			cmp.Or(given.Given["name"], "--name (this host's)"), peer.MaxNodeNameBytes, display.Quote(s.name))
	case given.Has("shards") && (s.shards < 1 || s.shards > jetstream.MaxShards):
		return exit.Usagef("%s: 1 to %d, got %d", given.Given["shards"], jetstream.MaxShards, s.shards)
	case given.Has("replicas") && (s.replicas < 1 || s.replicas > maxReplicas):
		return exit.Usagef("%s: 1 to %d, got %d", given.Given["replicas"], maxReplicas, s.replicas)
	case s.retention.Duration != 0 && s.retention.Duration < time.Second:
		return exit.Usagef("%s: 0, or at least 1s, got %s", given.Given["events-retention"], display.Duration(s.retention.Duration))
	case s.minTTL.Duration > s.maxTTL.Duration:
		return exit.Usagef("--min-ttl %s is longer than --max-ttl %s", display.Duration(s.minTTL.Duration), display.Duration(s.maxTTL.Duration))
	}
	return nil
}

// maxReplicas is the bound of JetStream.
const maxReplicas = 5

// isNodeName reports whether NATS accepts the name for a server.
func isNodeName(name string) bool {
	return name != "" && len(name) <= peer.MaxNodeNameBytes && display.OneLine(name) == name && display.Name(name) == name
}
