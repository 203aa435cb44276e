package main

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/holdfast-io/holdfast/actors"
	"github.com/holdfast-io/holdfast/actors/node"
	"github.com/holdfast-io/holdfast/cmd/holdfast/server"
	"github.com/holdfast-io/holdfast/jetstream"
	"github.com/holdfast-io/holdfast/messages"
)

// serve is the command that runs a node, and its settings.
type serve struct {
	listen, data, natsConfig string
	clusterListen            string
	routes                   []string
	unsafeSync, allowRemote  bool
	nats                     string
	creds, nkey              string
	user, password           string
	tlsCA, tlsCert, tlsKey   string
	name, prefix             string
	shards                   uint32
	replicas                 int
	minTTL, maxTTL           duration
	maxHeld, maxWaiting      number
	maxQueue, maxRate        number
	remember, idleAfter      duration
	maxRemembered            number
	history                  number
	retention                duration
	logLevel, logFormat      choice
	file                     string
}

func newServe() *cobra.Command {
	least, most := fromMillis(messages.MinTTLMillis), fromMillis(messages.MaxTTLMillis)
	s := &serve{
		minTTL:    newDuration(least, least, most),
		maxTTL:    newDuration(most, least, most),
		logLevel:  logLevelFlag(),
		logFormat: logFormatFlag(),
	}
	s.setBounds()
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Run a node, with NATS in it or beside a NATS that is there",
		Long: `Runs a node. Without flags it is complete by itself: a NATS server with JetStream
in the same process, for programs on this host. With --cluster-listen and --routes
that server is a member of a cluster, and --replicas 3 keeps the locks on three of
its members. With --nats it uses a NATS server that runs already, and with
--nats-config its own becomes what that file says, with TLS and users.

Every flag is also an environment variable, --min-ttl HOLDFAST_MIN_TTL, and a key
of the configuration file, min-ttl; see: holdfast help configuration.`,
		Example: `  holdfast serve
  holdfast serve --listen 127.0.0.1:4333 --data /var/lib/holdfast
  holdfast serve --name n1 --listen 127.0.0.1:4222 --data ./data/n1 --replicas 3 \
      --cluster-listen 127.0.0.1:6222 --routes 127.0.0.1:6222,127.0.0.1:6223,127.0.0.1:6224
  holdfast serve --nats nats://nats.example.com --creds holdfast.creds --replicas 3`,
		Args:              noArguments,
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE:              func(cmd *cobra.Command, _ []string) error { return s.run(cmd) },
	}
	s.addFlags(cmd)
	s.addCompletions(cmd)
	return cmd
}

// setBounds gives what an operator may tune its defaults and its bounds. The upper ones are far above
// what a node can do: who meets one has most likely written a zero too many.
func (s *serve) setBounds() {
	const million = 1_000_000
	tuning, capacity := actors.DefaultTuning(), node.DefaultCapacity()
	s.maxHeld = number{value: int(capacity.Held), least: 1, most: 100 * million}
	s.maxWaiting = number{value: int(capacity.Waiting), least: 1, most: 10 * million}
	s.maxQueue = number{value: tuning.MaxWaiting, least: 1, most: million}
	s.maxRate = number{value: capacity.Rate, least: 1, most: 10 * million}
	s.remember = newDuration(tuning.Remember, time.Second, 10*365*24*time.Hour)
	s.maxRemembered = number{value: defaultRemembered, least: 1, most: 100 * million}
	s.idleAfter = newDuration(tuning.IdleAfter, 100*time.Millisecond, 24*time.Hour)
	s.retention = newDuration(0, 0, 10*365*24*time.Hour)
	s.history = number{value: tuning.History, least: 1, most: 10 * million}
}

func (s *serve) addFlags(cmd *cobra.Command) {
	addFlags(cmd, "NATS in this process", func(f *pflag.FlagSet) {
		f.StringVar(&s.listen, "listen", "127.0.0.1:4222", "take clients at this `HOST:PORT`; port 0 is any free one")
		f.StringVar(&s.data, "data", "./data", "keep the locks in this `DIR`; it is made if it is missing")
		f.StringVar(&s.natsConfig, "nats-config", "", "run NATS as this `FILE` of its says, instead of --listen and --data")
		f.StringVar(&s.clusterListen, "cluster-listen", "", "be a member of a cluster, and take the others at this `HOST:PORT`")
		f.StringSliceVar(&s.routes, "routes", nil, "--cluster-listen of every member, with commas: the same `LIST` for all")
		f.BoolVar(&s.allowRemote, "allow-remote", false, "listen for other hosts although nobody has to log in")
		f.BoolVar(&s.unsafeSync, "unsafe-sync", false, "do not sync every write: faster, but a power cut loses locks")
	})
	addFlags(cmd, "NATS elsewhere", func(f *pflag.FlagSet) {
		f.StringVar(&s.nats, "nats", "", "use the NATS at this `URL`; more than one with commas")
		f.StringVar(&s.tlsCA, "tls-ca", "", "trust the authorities in this `FILE`")
		f.StringVar(&s.tlsCert, "tls-cert", "", "show the certificate in this `FILE`")
		f.StringVar(&s.tlsKey, "tls-key", "", "its private key, in this `FILE`")
	})
	addFlags(cmd, "Login, where NATS asks for one", func(f *pflag.FlagSet) {
		f.StringVar(&s.creds, "creds", "", "log in with this credentials `FILE`")
		f.StringVar(&s.nkey, "nkey", "", "log in with the nkey seed in this `FILE`")
		f.StringVar(&s.user, "user", "", "log in with this `NAME`")
		f.StringVar(&s.password, "password", "", "`PASSWORD` for it; in HOLDFAST_PASSWORD it does not show in ps")
	})
	addFlags(cmd, "Deployment", func(f *pflag.FlagSet) {
		f.StringVar(&s.name, "name", hostName(), "`NAME` of this node, which no other has and which stays the same")
		f.StringVar(&s.prefix, "prefix", string(messages.DefaultPrefix), "what the deployment's subjects begin with, a `NAME`")
		f.Uint32Var(&s.shards, "shards", 0, fmt.Sprintf("`NUMBER` of shards, fixed for ever (default what there is, else %d)", jetstream.DefaultShards))
		f.IntVar(&s.replicas, "replicas", 0, "`NUMBER` of NATS servers that keep each shard, at least (default 1)")
		f.Var(&s.minTTL, "min-ttl", "shortest lease")
		f.Var(&s.maxTTL, "max-ttl", "longest lease")
		f.Var(&s.retention, "events-retention", "keep events in a stream for so long; 0 only tells who is subscribed (default 0)")
	})
	addFlags(cmd, "Limits, beyond which the answer is OVERLOADED", func(f *pflag.FlagSet) {
		f.Var(&s.maxHeld, "max-held", "resources held on this node")
		f.Var(&s.maxWaiting, "max-waiting", "requests that wait on this node")
		f.Var(&s.maxQueue, "max-queue", "requests that wait for one resource")
		f.Var(&s.maxRate, "max-rate", "requests a second")
	})
	addFlags(cmd, "Memory", func(f *pflag.FlagSet) {
		f.Var(&s.remember, "remember", "keep a free resource's own token count for so long, at least")
		f.Var(&s.maxRemembered, "max-remembered", "token counts of free resources to keep, in the whole deployment; the oldest go first")
		f.Var(&s.history, "history", "keep so many commits of a shard for those who read its journal")
		f.Var(&s.idleAfter, "idle-after", "put a resource that nobody uses for so long out of memory")
	})
	addFlags(cmd, sectionOutput, func(f *pflag.FlagSet) {
		f.Var(&s.logLevel, "log-level", "log from this `LEVEL`: "+s.logLevel.list())
		f.Var(&s.logFormat, "log-format", "log in this `FORMAT`: "+s.logFormat.list())
	})
	cmd.Flags().VisitAll(func(f *pflag.Flag) { setEnv(f, ownEnv(f.Name)) })
	addFlags(cmd, sectionOther, func(f *pflag.FlagSet) {
		f.StringVar(&s.file, configFlag, "", "read settings from this `FILE`, in YAML or TOML [$"+ownEnv(configFlag)+"]")
		setEnv(f.Lookup(configFlag), ownEnv(configFlag))
	})
}

func (s *serve) addCompletions(cmd *cobra.Command) {
	must(cmd.RegisterFlagCompletionFunc("log-level", cobra.FixedCompletions(s.logLevel.words, cobra.ShellCompDirectiveNoFileComp)))
	must(cmd.RegisterFlagCompletionFunc("log-format", cobra.FixedCompletions(s.logFormat.words, cobra.ShellCompDirectiveNoFileComp)))
	must(cmd.MarkFlagDirname("data"))
	must(cmd.MarkFlagFilename(configFlag, "yaml", "yml", "toml"))
}

// must panics on what only a mistake in this package can cause.
func must(err error) {
	if err != nil {
		panic(err)
	}
}

func (s *serve) run(cmd *cobra.Command) error {
	given, err := loadSettings(cmd.Flags())
	if err != nil {
		return err
	}
	if err := s.check(given); err != nil {
		return err
	}
	log, err := newLogger(cmd.ErrOrStderr(), s.logLevel.word, s.logFormat.word)
	if err != nil {
		return err
	}
	for _, name := range strangers(cmd.Root(), os.Environ()) {
		log.Warn("an environment variable is no setting of holdfast", "variable", name)
	}
	cfg, err := s.config(log)
	if err != nil {
		return err
	}
	limitMemory(cfg.Capacity, cfg.Remembered)
	ctx := cmd.Context()
	running, err := server.Start(ctx, cfg)
	switch {
	case err != nil && ctx.Err() != nil:
		return nil // interrupted before the node was ready
	case err != nil:
		return &failure{code: startCode(err), err: s.explain(err)}
	}
	if err := s.announce(cmd.OutOrStdout(), running); err != nil {
		return errors.Join(err, running.Stop())
	}
	return running.Wait(ctx)
}

// startCode tells the caller's mistakes and what is missing from all else.
func startCode(err error) int {
	switch {
	case errors.Is(err, jetstream.ErrConfig), errors.Is(err, node.ErrName):
		return exitUsage
	case errors.Is(err, jetstream.ErrConnect):
		return exitUnavailable
	}
	return exitUnexpected
}

// check refuses settings that contradict one another or cannot work, before anything is started.
func (s *serve) check(given *settings) error {
	inProcess := []string{"listen", "data", "nats-config", "cluster-listen", "routes", "allow-remote", "unsafe-sync"}
	elsewhere := []string{"tls-ca", "tls-cert", "tls-key"}
	return cmp.Or(
		given.exclude("nats", inProcess, "the one is for a NATS elsewhere, the other for the one in this process"),
		given.exclude("nats-config", []string{"listen", "data", "cluster-listen", "routes", "allow-remote"},
			"the NATS configuration says where to listen and where the data is"),
		given.require("cluster-listen", []string{"routes"}, "others have to reach who reaches them"),
		given.require("routes", []string{"cluster-listen"}, "a member of a cluster has to know the others"),
		given.exclude("creds", []string{"nkey", "user"}, "choose one way to log in"),
		given.exclude("nkey", []string{"user"}, "choose one way to log in"),
		given.require("nats", elsewhere, "they are for a NATS elsewhere; the one in this process has --nats-config"),
		given.require("tls-cert", []string{"tls-key"}, "a key belongs to a certificate"),
		given.require("tls-key", []string{"tls-cert"}, "a certificate is shown with its key"),
		given.require("user", []string{"password"}, "a password belongs to a user"),
		given.require("password", []string{"user"}, "a user has a password"),
		s.checkLogin(given),
		s.checkFiles(given),
		s.checkDeployment(given),
	)
}

func (s *serve) checkLogin(given *settings) error {
	if given.has("nats") || given.has("nats-config") {
		return nil
	}
	for _, flag := range []string{"creds", "nkey", "user"} {
		if given.has(flag) {
			return usage("%s needs --nats or --nats-config: without them nobody has to log in", given.given[flag])
		}
	}
	return nil
}

func (s *serve) checkFiles(given *settings) error {
	for _, flag := range []string{"nats-config", "creds", "nkey", "tls-ca", "tls-cert", "tls-key"} {
		if err := legibleFile(given, flag); err != nil {
			return err
		}
	}
	return nil
}

func (s *serve) checkDeployment(given *settings) error {
	if _, err := messages.ParsePrefix(s.prefix); err != nil {
		return badValue(given.given["prefix"], s.prefix, err)
	}
	switch {
	case !isNodeName(s.name):
		return usage("%s: 1 to %d printable characters without spaces, got %s",
			cmp.Or(given.given["name"], "--name (this host's)"), maxNameBytes, quoted(s.name))
	case given.has("shards") && (s.shards < 1 || s.shards > jetstream.MaxShards):
		return usage("%s: 1 to %d, got %d", given.given["shards"], jetstream.MaxShards, s.shards)
	case given.has("replicas") && (s.replicas < 1 || s.replicas > maxReplicas):
		return usage("%s: 1 to %d, got %d", given.given["replicas"], maxReplicas, s.replicas)
	case s.retention.Duration != 0 && s.retention.Duration < time.Second:
		return usage("%s: 0, or at least 1s, got %s", given.given["events-retention"], readable(s.retention.Duration))
	case s.minTTL.Duration > s.maxTTL.Duration:
		return usage("--min-ttl %s is longer than --max-ttl %s", readable(s.minTTL.Duration), readable(s.maxTTL.Duration))
	}
	return nil
}

const (
	// maxReplicas is JetStream's own bound.
	maxReplicas = 5
	// maxNameBytes keeps names readable in logs; it is also what a host name may have.
	maxNameBytes = 253
)

// isNodeName reports whether NATS takes the name for a server's too.
func isNodeName(name string) bool {
	return name != "" && len(name) <= maxNameBytes && oneLine(name) == name && shown(name) == name
}
