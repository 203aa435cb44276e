package operate

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/holdfast-io/holdfast/backup"
	"github.com/holdfast-io/holdfast/cmd/holdfast/internal/ask"
	"github.com/holdfast-io/holdfast/cmd/holdfast/internal/cli"
	"github.com/holdfast-io/holdfast/cmd/holdfast/internal/connect"
	"github.com/holdfast-io/holdfast/cmd/holdfast/internal/display"
	"github.com/holdfast-io/holdfast/cmd/holdfast/internal/exit"
	"github.com/holdfast-io/holdfast/cmd/holdfast/internal/settings"
	"github.com/holdfast-io/holdfast/jetstream"
	"github.com/holdfast-io/holdfast/jetstream/embedded"
	"github.com/holdfast-io/holdfast/messages"
	"github.com/holdfast-io/holdfast/messages/archive"
	"github.com/holdfast-io/holdfast/messages/peer"
)

// restoreCommand is the command that fills a deployment from a file.
type restoreCommand struct {
	connection       connect.Flags
	data, name       string
	clusterListen    string
	shards, replicas cli.Number
	ahead            cli.Number

	file    *os.File
	restore backup.Restore
	log     *slog.Logger
}

func newRestore() *cobra.Command {
	r := &restoreCommand{
		shards:   cli.NewNumber(0, 1, jetstream.MaxShards),
		replicas: cli.NewNumber(1, 1, cli.MaxReplicas),
		ahead:    cli.NewNumber(backup.DefaultAhead, 0, backup.MaxAhead),
	}
	cmd := &cobra.Command{
		Use:   "restore FILE",
		Short: "Fill a new deployment from a backup",
		Long: `Fills a deployment that does not exist yet from a file of holdfast backup: with --data
in the data directory of a node to come, otherwise in the JetStream of an existing NATS,
where no node may run. The number of shards and of replicas may be others than before.

Leases are held under their tokens, and run their whole TTL from the start of the first
node. All other tokens begin --ahead above the highest one in the backup, because the
backup may be older than the last grant. --ahead has to cover all grants of the whole
deployment since the backup began, with 1000 for each ephemeral one, and the --ahead of
each restore since. With --ahead 0 all tokens stay as they are; that is for a move, if
nothing was granted since the backup.

FILE is read and checked before anything is changed. No node starts on a deployment
whose restore was interrupted; start the restore again.`,
		Example: `  holdfast restore locks.backup --data ./data && holdfast serve --data ./data
  holdfast restore locks.backup --server nats://nats.example.com --replicas 3 --shards 4
  holdfast restore locks.backup --data data/n1 --name n1 --cluster-listen 127.0.0.1:6222`,
		Args:                  oneFile,
		DisableFlagsInUseLine: true,
		RunE:                  r.run,
	}
	cli.AddFlags(cmd, "Deployment", func(f *pflag.FlagSet) {
		f.StringVar(&r.data, "data", "", "data directory of the node to come, `DIR`; created if it is missing")
		f.StringVar(&r.clusterListen, "cluster-listen", "",
			"with --data: the node is to be the first member of a cluster; any free address of this host, `HOST:PORT`")
		f.StringVar(&r.name, "name", cli.HostName(), "with --cluster-listen: its `NAME`")
		f.Var(&r.shards, "shards", "number of shards (default as in the backup)")
		f.Var(&r.replicas, "replicas", "number of NATS servers that store each shard")
		f.Var(&r.ahead, "ahead", "begin new tokens this far above the highest one in the backup")
	})
	r.connection.AddTo(cmd)
	_ = cmd.MarkFlagDirname("data") // the flag is there
	return cmd
}

func (r *restoreCommand) run(cmd *cobra.Command, args []string) (err error) {
	if err := r.load(cmd); err != nil {
		return err
	}
	r.log = warnings(cmd)
	if r.file, err = os.Open(args[0]); err != nil {
		return exit.Usagef("cannot read %s: %w", display.Quote(args[0]), settings.RootCause(err))
	}
	defer func() { _ = r.file.Close() }()
	if err := r.inspect(cmd); err != nil {
		return err
	}
	if r.data == "" {
		err = r.intoServer(cmd)
	} else {
		err = r.intoDirectory(cmd)
	}
	if err != nil {
		return err
	}
	return r.announce(cmd)
}

// load reads the flags and refuses what contradicts itself.
func (r *restoreCommand) load(cmd *cobra.Command) error {
	s, err := settings.Load(cmd.Flags())
	if err != nil {
		return err
	}
	if r.data != "" { // variables may be set for other commands
		for _, flag := range []string{"server", "context", "creds", "nkey", "user", "tls-ca", "tls-cert"} {
			if cmd.Flags().Changed(flag) {
				return exit.Usagef(
					"--data and --%s exclude each other: one is for the directory of a node, the other for an "+
						"existing NATS", flag)
			}
		}
	}
	switch {
	case r.clusterListen != "" && r.data == "":
		return exit.Usagef("--cluster-listen needs --data: it is for the directory of a node")
	case s.Has("name") && r.clusterListen == "":
		return exit.Usagef("--name needs --cluster-listen: only a member of a cluster has a name in its data")
	case s.Has("name") && !cli.IsServerName(r.name, peer.MaxNodeNameBytes):
		return exit.Usagef("--name: printable characters without spaces, got %s", display.Quote(r.name))
	case r.data != "" && r.replicas.Value > 1:
		return exit.Usagef(
			"--replicas %d needs as many servers, and --data is one: start the first member, add the others, "+
				"and let serve --replicas raise them", r.replicas.Value)
	}
	return r.connection.Check(s)
}

// inspect reads the whole file, and takes from it what no flag says.
func (r *restoreCommand) inspect(cmd *cobra.Command) error {
	info, err := r.file.Stat()
	if err == nil && !info.Mode().IsRegular() {
		return exit.Usagef("%s is not a regular file, and it is read several times", display.Quote(r.file.Name()))
	}
	if err != nil {
		return err
	}
	bar := display.NewGauge(cmd.ErrOrStderr())
	defer bar.Clear()
	contents, err := backup.Inspect(r.file, info.Size(), func(done float64) { bar.Show(done, "checking the file") })
	r.restore = backup.Restore{File: r.file, Contents: contents, Ahead: uint64(r.ahead.Value),
		AtMs: time.Now().UnixMilli()}
	if err == nil {
		err = r.restore.Check()
	}
	for _, refusal := range []error{archive.ErrDamaged, archive.ErrForeign, archive.ErrNewer, backup.ErrAhead} {
		if errors.Is(err, refusal) {
			return exit.Usagef("%s: %w; nothing was changed", display.Quote(r.file.Name()), err)
		}
	}
	if err != nil {
		return err
	}
	if r.shards.Value == 0 {
		r.shards.Value = int(contents.Header.GetShards())
	}
	if !cmd.Flags().Changed("prefix") && os.Getenv(settings.Variable("prefix")) == "" {
		r.connection.Prefix = contents.Header.GetPrefix()
	}
	return nil
}

// intoDirectory fills the data directory of a node, with a server of its own.
func (r *restoreCommand) intoDirectory(cmd *cobra.Command) error {
	cfg := embedded.Config{Name: r.name, Listen: "127.0.0.1:0", DataDir: r.data, ClusterName: r.connection.Prefix,
		Log: r.log}
	if r.clusterListen != "" {
		cfg.ClusterListen, cfg.Routes = r.clusterListen, []string{r.clusterListen}
	}
	server, err := embedded.Start(cfg)
	if err != nil {
		if errors.Is(err, embedded.ErrConfig) {
			return &exit.Error{Code: exit.Usage, Err: err}
		}
		return err
	}
	defer server.Shutdown()
	if err := server.AwaitQuorum(cmd.Context()); err != nil {
		return err
	}
	nc, err := server.Connect()
	if err != nil {
		return err
	}
	defer nc.Close()
	return r.fill(cmd, nc)
}

// intoServer fills a deployment on an existing NATS.
func (r *restoreCommand) intoServer(cmd *cobra.Command) error {
	nc, err := r.connection.Open(cmd.Context(), "restore", cmd.ErrOrStderr())
	if err != nil {
		return err
	}
	defer nc.Close()
	if err := r.checkNoNode(cmd.Context(), nc); err != nil {
		return err
	}
	return r.fill(cmd, nc)
}

// checkNoNode refuses a deployment on which a node runs, which may have no bucket any more.
func (r *restoreCommand) checkNoNode(ctx context.Context, nc *nats.Conn) error {
	subject := messages.Prefix(r.connection.Prefix).Info()
	_, err := ask.New(nc).Send(ctx, r.connection.Timeout.Duration, nats.NewMsg(subject))
	switch {
	case errors.Is(err, nats.ErrNoResponders):
		return nil
	case err == nil:
		return exit.Errorf(exit.Unexpected,
			"a node of %q runs at %s; stop all of them before a restore; nothing was changed", r.connection.Prefix,
			r.connection.Where())
	}
	return exit.Errorf(exit.Unavailable, "cannot tell whether a node of %q runs at %s: %w; nothing was changed",
		r.connection.Prefix, r.connection.Where(), err)
}

// fill creates the deployment and writes all locks into it.
func (r *restoreCommand) fill(cmd *cobra.Command, nc *nats.Conn) error {
	bar := display.NewGauge(cmd.ErrOrStderr())
	defer bar.Clear()
	ctx := cmd.Context()
	d, err := jetstream.BeginRestore(ctx, nc, jetstream.DeploymentConfig{
		Prefix: messages.Prefix(r.connection.Prefix), Shards: uint32(r.shards.Value), Replicas: r.replicas.Value,
		Log: r.log,
	}, r.restore.After())
	if errors.Is(err, jetstream.ErrNotEmpty) {
		return fmt.Errorf("%w; nothing was changed", err)
	}
	if err != nil {
		return storageError(ctx, &r.connection, err)
	}
	r.restore.Target = func(shard uint32) backup.Target { return d.Bucket(shard) }
	running, idle, stop := guard(ctx, r.connection.Timeout.Duration)
	r.restore.Shards, r.restore.Progress = d.Shards(), func(done float64) {
		idle.progress()
		bar.Show(done, "restoring")
	}
	err = r.restore.Run(running)
	stop() // the end has timeouts of its own, and no progress
	if err == nil {
		err = d.Finish(ctx)
	}
	if err != nil {
		return fmt.Errorf("%w; no node starts on this deployment until the restore has been repeated",
			storageError(running, &r.connection, err))
	}
	return nil
}

func (r *restoreCommand) announce(cmd *cobra.Command) error {
	raised := "No token was raised (--ahead 0), so nothing may have been granted since."
	if r.ahead.Value > 0 {
		raised = fmt.Sprintf(
			"New tokens begin %d above the highest one in the backup (--ahead). None is issued twice unless more was "+
				"granted since.", r.ahead.Value)
	}
	serve := "holdfast serve --server " + r.connection.Where()
	if r.data != "" {
		serve = "holdfast serve --data " + r.data
	}
	if r.clusterListen != "" {
		serve += " --name " + r.name + " --cluster-listen ... --routes ..."
	}
	if r.connection.Prefix != string(messages.DefaultPrefix) {
		serve += " --prefix " + r.connection.Prefix
	}
	_, err := fmt.Fprintf(cmd.OutOrStdout(), `restored the backup of %s: %s, now in %s
%s
Leases run their whole TTL from the start of the first node: %s
`, time.UnixMilli(r.restore.Contents.Header.GetAtMs()).UTC().Format(time.RFC3339), describe(r.restore.Contents),
		display.Count(r.shards.Value, "shard"), raised, serve)
	return err
}
