package operate

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/holdfast-io/holdfast/cmd/holdfast/internal/cli"
	"github.com/holdfast-io/holdfast/cmd/holdfast/internal/display"
	"github.com/holdfast-io/holdfast/cmd/holdfast/internal/exit"
	"github.com/holdfast-io/holdfast/cmd/holdfast/internal/settings"
	"github.com/holdfast-io/holdfast/jetstream/embedded"
	"github.com/holdfast-io/holdfast/jetstream/members"
	"github.com/holdfast-io/holdfast/jetstream/natsconn"
	"github.com/holdfast-io/holdfast/messages"
)

// reachTimeout bounds the time to reach a member.
const reachTimeout = 10 * time.Second

// membersCommand is the command about the servers of a cluster, and the common part of its subcommands.
type membersCommand struct {
	routes  []string
	prefix  string
	timeout cli.Duration
	tls     embedded.TLSFiles
	json    bool
}

func newMembers() *cobra.Command {
	m := &membersCommand{}
	cmd := &cobra.Command{
		Use:   "members",
		Short: "Show the members of a cluster, or remove one",
		Long: `Shows the members of a cluster of nodes with --cluster-listen: the leader, members
that are away or cannot store, the number of streams of which each has a replica,
and the number of replicas that are behind. Every bucket of locks is a stream. The
command joins the cluster for a moment, by the routes of its members.`,
		Example: `  holdfast members --routes 127.0.0.1:6222,127.0.0.1:6223,127.0.0.1:6224
  holdfast members remove n3 --routes 127.0.0.1:6222,127.0.0.1:6223`,
		Args:              cli.KnownCommand,
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE:              m.show,
	}
	m.addTo(cmd)
	cli.AddJSON(cmd, &m.json, "print each member as one line of JSON")
	cmd.AddCommand(newMembersRemove())
	return cmd
}

func newMembersRemove() *cobra.Command {
	m := &membersCommand{}
	cmd := &cobra.Command{
		Use:     "remove NAME",
		Aliases: []string{"rm"},
		Short:   "Remove a member that is permanently away",
		Long: `Removes a member that is away from its cluster. It no longer counts for the
majority, and other members get replicas of its streams; the command returns when
they are complete. All other members must be present, at least as many as there are
replicas.

Delete the data of a removed member before it runs again; after five minutes it may
return under its old name.`,
		Example:               `  holdfast members remove n3 --routes 127.0.0.1:6222,127.0.0.1:6223`,
		DisableFlagsInUseLine: true,
		Args:                  cli.OneArgument("name one member, as in: %s n3"),
		ValidArgsFunction:     cobra.NoFileCompletions,
		RunE:                  m.remove,
	}
	m.addTo(cmd)
	return cmd
}

func (m *membersCommand) addTo(cmd *cobra.Command) {
	m.timeout = cli.NewDuration(time.Minute, 100*time.Millisecond, 24*time.Hour)
	cli.AddFlags(cmd, cli.SectionConnection, func(f *pflag.FlagSet) {
		f.StringSliceVar(&m.routes, "routes", nil, "comma-separated `LIST` of the members' --cluster-listen")
		f.StringVar(&m.prefix, "prefix", string(messages.DefaultPrefix),
			"`NAME` with which the deployment's subjects begin; also the name of the cluster")
		f.StringVar(&m.tls.Cert, "tls-cert", "", "`FILE` with the certificate of a member, for a cluster with TLS")
		f.StringVar(&m.tls.Key, "tls-key", "", "`FILE` with its private key")
		f.StringVar(&m.tls.CA, "tls-ca", "", "`FILE` with the authority of the members")
		f.Var(&m.timeout, "timeout", "maximum time for the command, new replicas included")
		for _, flag := range []string{"routes", "prefix"} {
			settings.SetEnv(f.Lookup(flag), settings.Variable(flag))
		}
	})
}

// session runs use with an admin session. The log of the server that joins the cluster for it is discarded.
func (m *membersCommand) session(cmd *cobra.Command, use func(context.Context, *members.Session) error) error {
	s, err := settings.Load(cmd.Flags())
	if err != nil {
		return err
	}
	if _, err := messages.ParsePrefix(m.prefix); err != nil {
		return cli.BadValue(s.Given["prefix"], m.prefix, err)
	}
	if len(m.routes) == 0 {
		return exit.Usagef(
			"--routes is required: the --cluster-listen of the members, as in: %s --routes 127.0.0.1:6222",
			cmd.CommandPath())
	}
	files := []string{"tls-cert", "tls-key", "tls-ca"}
	if err := cmp.Or(s.Together("the three belong together", files...), s.CheckFiles(files...)); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(cmd.Context(), m.timeout.Duration)
	defer cancel()
	reaching, stop := context.WithTimeout(ctx, reachTimeout)
	defer stop()
	observer, err := embedded.Observe(reaching, m.prefix, m.routes, m.tls, slog.New(slog.DiscardHandler))
	if err != nil {
		return clusterError(err)
	}
	defer observer.Close()
	session, err := members.NewSession(observer)
	if err != nil {
		return clusterError(err)
	}
	return use(ctx, session)
}

// clusterError gives an error its exit code, and omits that the time was over.
func clusterError(err error) error {
	if err == nil {
		return nil
	}
	text := strings.TrimSuffix(err.Error(), ": "+context.DeadlineExceeded.Error())
	switch {
	case errors.Is(err, context.Canceled):
		return err
	case errors.Is(err, natsconn.ErrConnect):
		return exit.Errorf(exit.Unavailable,
			"%s; are they members of a cluster with this --prefix, started with --cluster-listen? "+
				"Members with TLS need --tls-cert, --tls-key and --tls-ca of one. For an external NATS use: nats "+
				"server "+
				"report jetstream", text)
	case errors.Is(err, jetstream.ErrJetStreamNotEnabledForAccount):
		return exit.Usagef("the cluster has JetStream in accounts only: %s", otherAccount)
	case errors.Is(err, members.ErrNoLeader):
		return exit.Errorf(exit.Unavailable, "%s; or --routes are not the --cluster-listen of its members", text)
	case errors.Is(err, embedded.ErrConfig), errors.Is(err, members.ErrNoMember):
		return exit.Usagef("%s", text)
	}
	return exit.Errorf(exit.Unavailable, "%s", text)
}

func (m *membersCommand) show(cmd *cobra.Command, _ []string) error {
	return m.session(cmd, func(ctx context.Context, s *members.Session) error {
		report, err := s.Report(ctx)
		if err != nil {
			return clusterError(err)
		}
		text := memberTable(report.Members).Text(display.Columns(cmd.OutOrStdout()))
		if m.json {
			text, err = memberLines(report.Members)
		}
		if err == nil {
			_, err = io.WriteString(cmd.OutOrStdout(), text)
		}
		return err
	})
}

func memberTable(all []*members.Member) display.Table {
	t := display.Table{
		{Cells: []string{"MEMBER"}},
		{Cells: []string{"STATE"}},
		{Cells: []string{"STREAMS"}, Right: true},
		{Cells: []string{"BEHIND"}, Right: true},
	}
	for _, m := range all {
		t.Add([]string{display.Name(m.Name), stateOf(m), strconv.Itoa(len(m.Streams)), strconv.Itoa(len(m.Behind))})
	}
	return t
}

func stateOf(m *members.Member) string {
	switch {
	case m.Fault != "":
		return "cannot store"
	case m.Away && m.Silent == 0:
		return "away"
	case m.Away:
		return "away for " + display.Duration(m.Silent.Round(time.Second))
	case m.Leads:
		return "leads"
	}
	return "here"
}

// memberLines returns the members as lines of JSON.
func memberLines(all []*members.Member) (string, error) {
	var b strings.Builder
	for _, m := range all {
		line, err := json.Marshal(struct {
			Member   string   `json:"member"`
			Leads    bool     `json:"leads"`
			Away     bool     `json:"away"`
			SilentMs int64    `json:"silent_ms"`
			Streams  []string `json:"streams"`
			Behind   []string `json:"behind"`
			Fault    string   `json:"fault,omitempty"`
		}{m.Name, m.Leads, m.Away, m.Silent.Milliseconds(), append([]string{}, m.Streams...), append([]string{},
			m.Behind...), m.Fault})
		if err != nil {
			return "", err
		}
		b.WriteString(display.JSON(line) + "\n")
	}
	return b.String(), nil
}

func (m *membersCommand) remove(cmd *cobra.Command, args []string) error {
	return m.session(cmd, func(ctx context.Context, s *members.Session) error {
		if err := m.checkAccount(ctx, s); err != nil {
			return err
		}
		if err := s.Remove(ctx, args[0]); err != nil {
			return clusterError(err)
		}
		out := cmd.OutOrStdout()
		if _, err := fmt.Fprintf(out, "removed %s\n", display.Name(args[0])); err != nil {
			return err
		}
		return awaitReplicas(ctx, out, s)
	})
}

// checkAccount refuses to remove a member where the locks are in another account: their replicas would not be counted.
func (m *membersCommand) checkAccount(ctx context.Context, s *members.Session) error {
	report, err := s.Report(ctx)
	if err != nil {
		return clusterError(err)
	}
	if !report.Has("KV_" + messages.Prefix(m.prefix).Bucket(messages.Shard{})) {
		return exit.Usagef("the cluster has no locks with the prefix %q outside of accounts: %s", m.prefix,
			otherAccount)
	}
	return nil
}

// otherAccount says what to use for a cluster whose nodes have an account.
const otherAccount = "if the nodes have an account of their own, use a user of the system account and nats server report jetstream, nats server cluster peer-remove"

// awaitReplicas returns when every stream has all its replicas, and says how many have not.
func awaitReplicas(ctx context.Context, out io.Writer, s *members.Session) error {
	err := s.AwaitReplicas(ctx, func(missing []string) {
		_, _ = fmt.Fprintf(out, "%s without all replicas\n", display.Count(len(missing), "stream"))
	})
	switch {
	case err == nil:
		_, err = fmt.Fprintln(out, "every stream has all its replicas")
		return err
	case ctx.Err() != nil:
		return exit.Errorf(exit.Unexpected,
			"replicas of its streams are not complete yet; "+
				"they continue without this command, and holdfast members shows the progress")
	}
	return clusterError(err)
}
