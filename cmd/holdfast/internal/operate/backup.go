package operate

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/holdfast-io/holdfast/backup"
	"github.com/holdfast-io/holdfast/cmd/holdfast/internal/cli"
	"github.com/holdfast-io/holdfast/cmd/holdfast/internal/connect"
	"github.com/holdfast-io/holdfast/cmd/holdfast/internal/display"
	"github.com/holdfast-io/holdfast/cmd/holdfast/internal/exit"
	"github.com/holdfast-io/holdfast/jetstream"
	"github.com/holdfast-io/holdfast/messages"
	"github.com/holdfast-io/holdfast/messages/archive"
)

// backupCommand is the command that copies a deployment to a file.
type backupCommand struct {
	connection connect.Flags
	force      bool
	version    string // of the program
}

func newBackup(version string) *cobra.Command {
	b := &backupCommand{version: version}
	cmd := &cobra.Command{
		Use:   "backup FILE",
		Short: "Copy all locks and tokens to a file",
		Long: `Copies a deployment to FILE, or to standard output if FILE is -: the leases that are
held, the ended ones that hold their resources back, and the tokens. Nodes may run, and
are not disturbed. Each shard is copied as it is at one moment. Waiting requests and
ephemeral leases are not in it.

FILE is written under another name, synced and renamed, so it is whole or absent. It
is readable to its owner only. holdfast restore fills a new deployment from it.`,
		Example: `  holdfast backup locks.backup
  holdfast backup - | gzip > locks.backup.gz`,
		Args:                  oneFile,
		DisableFlagsInUseLine: true,
		RunE:                  b.run,
	}
	cli.AddFlags(cmd, "Backup", func(f *pflag.FlagSet) {
		f.BoolVar(&b.force, "force", false, "replace FILE if it exists")
	})
	b.connection.AddTo(cmd)
	return cmd
}

// oneFile permits one argument.
var oneFile = cli.OneArgument("name one file, as in: %s locks.backup")

func (b *backupCommand) run(cmd *cobra.Command, args []string) error {
	if err := b.connection.Load(cmd.Flags()); err != nil {
		return err
	}
	file := wholeFile{path: args[0], replace: b.force}
	isOutput := file.path == "-"
	if !isOutput {
		if err := file.check(); err != nil {
			return err
		}
	}
	nc, err := b.connection.Open(cmd.Context(), "backup", cmd.ErrOrStderr())
	if err != nil {
		return err
	}
	defer nc.Close()
	if isOutput {
		_, err = b.copy(cmd, nc, cmd.OutOrStdout())
		return err
	}
	var contents *backup.Contents
	err = file.write(func(w io.Writer) (err error) {
		contents, err = b.copy(cmd, nc, w)
		return err
	})
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(cmd.OutOrStdout(), "%s has %s\n", display.Quote(file.path), describe(contents))
	return err
}

// copy writes the backup.
func (b *backupCommand) copy(cmd *cobra.Command, nc *nats.Conn, w io.Writer) (*backup.Contents, error) {
	bar := display.NewGauge(cmd.ErrOrStderr())
	defer bar.Clear()
	ctx, idle, stop := guard(cmd.Context(), b.connection.Timeout.Duration)
	defer stop()
	d, err := jetstream.OpenDeployment(ctx, nc, jetstream.DeploymentConfig{
		Prefix: messages.Prefix(b.connection.Prefix), Existing: true, Log: warnings(cmd),
	})
	if err != nil {
		return nil, storageError(ctx, &b.connection, err)
	}
	h := &archive.Header{
		Prefix: b.connection.Prefix, Shards: d.Shards(), Version: b.version, AtMs: time.Now().UnixMilli(),
	}
	source := func(shard uint32) backup.Source { return d.Bucket(shard) }
	contents, err := backup.Copy(ctx, idle.output(w), h, source, func(done float64) {
		idle.progress()
		bar.Show(done, "copying")
	})
	if err == nil {
		err = checkGeneration(ctx, d)
	}
	return contents, storageError(ctx, &b.connection, err)
}

// checkGeneration returns an error if the deployment has another generation of shards by now: what was granted there is
// not in the journals that were copied.
func checkGeneration(ctx context.Context, d *jetstream.Deployment) error {
	r := d.Register()
	if r == nil {
		return nil
	}
	content, _, err := r.Read(ctx)
	if err == nil && content.InUse() != d.Divided() {
		err = errors.New("the number of shards was changed during the backup; start it again")
	}
	return err
}

// storageError gives an error of storage its exit code.
func storageError(ctx context.Context, c *connect.Flags, err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(context.Cause(ctx), errIdle):
		return exit.Errorf(exit.Unavailable, "JetStream at %s has not answered for %s: %w", c.Where(),
			display.Duration(c.Timeout.Duration), err)
	case errors.Is(err, context.Canceled):
		return exit.Errorf(exit.Unexpected, "interrupted")
	case errors.Is(err, jetstream.ErrConfig):
		return &exit.Error{Code: exit.Usage, Err: err}
	case errors.Is(err, jetstream.ErrForbidden), errors.Is(err, jetstream.ErrNoJetStream),
		errors.Is(err, jetstream.ErrNoDeployment):
		return exit.Errorf(exit.Unavailable, "%s: %w", c.Where(), err)
	}
	return err
}

// describe says what a backup has.
func describe(c *backup.Contents) string {
	text := fmt.Sprintf("%s of %q: %s held", display.Count(int(c.Header.GetShards()), "shard"), c.Header.GetPrefix(),
		display.Count(c.Leases, "lease"))
	if c.Lost > 0 {
		text += fmt.Sprintf(", %s whose resources are held back", display.Count(c.Lost, "ended lease"))
	}
	return text + fmt.Sprintf(", the tokens of %s that are free", display.Count(c.Free, "resource"))
}

// warnings returns a log on standard error, which has warnings and errors only.
func warnings(cmd *cobra.Command) *slog.Logger {
	return slog.New(slog.NewTextHandler(cmd.ErrOrStderr(), &slog.HandlerOptions{Level: slog.LevelWarn}))
}
