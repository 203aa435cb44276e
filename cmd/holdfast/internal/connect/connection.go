// Package connect connects a command to NATS as its flags, variables and contexts say.
package connect

import (
	"cmp"
	"io"
	"net/url"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/holdfast-io/holdfast/clients/request"
	"github.com/holdfast-io/holdfast/cmd/holdfast/internal/cli"
	"github.com/holdfast-io/holdfast/cmd/holdfast/internal/display"
	"github.com/holdfast-io/holdfast/cmd/holdfast/internal/exit"
	"github.com/holdfast-io/holdfast/cmd/holdfast/internal/settings"
	"github.com/holdfast-io/holdfast/messages"
)

// Flags are the flags with which a command connects to a deployment. They have the names and variables of the
// nats command line.
type Flags struct {
	server                 string
	login                  Login
	tlsCert, tlsKey, tlsCA string
	tlsFirst               bool
	inboxPrefix            string
	Prefix                 string
	Timeout                cli.Duration
	// Patient: --timeout was given. Without it a command reports at once that nothing answers.
	Patient bool
	// Tenant is whose locks are meant; empty: those of no tenant. With anyTenant it may be [messages.AllTenants].
	Tenant    string
	anyTenant bool
	// context names a context of the nats command line; empty: none. userJWT and userSeed come from it.
	context           string
	userJWT, userSeed string
	// Notices receives the notice for a person that a command still tries; nil: there is no notice.
	Notices io.Writer
}

// AddTo adds the flags to the command.
func (c *Flags) AddTo(cmd *cobra.Command) {
	c.Timeout = cli.NewDuration(15*time.Second, 10*time.Millisecond, 24*time.Hour)
	cmd.Flags().SetNormalizeFunc(oneSpelling)
	cli.AddTopicFlags(cmd, cli.SectionConnection, topic, func(f *pflag.FlagSet) {
		f.StringVarP(&c.server, "server", "s", nats.DefaultURL, "`URL` of NATS; several are separated by commas")
		c.login.Add(f)
		f.Lookup("user").Usage += "; without a password, a token"
		f.StringVar(&c.tlsCert, "tls-cert", "", "`FILE` with the client certificate")
		f.StringVar(&c.tlsKey, "tls-key", "", "`FILE` with its private key")
		f.StringVar(&c.tlsCA, "tls-ca", "", "`FILE` with the certificate authorities to trust")
		f.BoolVar(&c.tlsFirst, "tls-first", false, "begin with TLS, for a server with handshake_first")
		f.StringVar(&c.inboxPrefix, "inbox-prefix", "",
			"`SUBJECT` with which the subjects of answers begin (default _INBOX)")
		f.StringVar(&c.context, "context", "", "`NAME` of a context of the nats command line, for what is not given")
		f.Var(&c.Timeout, "timeout", "time to wait for an answer, in addition to --wait")
		f.StringVar(&c.Prefix, "prefix", string(messages.DefaultPrefix),
			"`NAME` with which the deployment's subjects begin")
		for flag, variable := range natsVariables {
			settings.SetEnv(f.Lookup(flag), variable)
		}
		settings.SetEnv(f.Lookup("prefix"), settings.Variable("prefix"))
		f.VisitAll(func(flag *pflag.Flag) {
			if variable := settings.Env(flag); variable != "" {
				flag.Usage += " [$" + variable + "]"
			}
		})
	}, "server")
}

// topic is the help topic that shows the flags.
var topic = &cli.Topic{Name: "connection", Summary: "login, TLS, --context, --timeout, --prefix"}

// NewTopic returns the topic.
func NewTopic() *cobra.Command {
	cmd := &cobra.Command{}
	new(Flags).AddTo(cmd)
	return topic.Command(cmd, "Flags with which a command connects to NATS",
		`The flags with which each command but serve connects to NATS. They have the
names and the variables of the nats command line; --tlscert and so on work too.

--context NAME reads ~/.config/nats/context/NAME.json (below $XDG_CONFIG_HOME, if that
is set): URL, login with its JWT too, TLS files, inbox_prefix and tls_first. Flags and
variables override it. A context with a setting that holdfast does not have is refused.
The context of "nats context select" is not used: after another selection the same
command would take a lock elsewhere.`)
}

// oneSpelling accepts the spelling of the nats command line, which earlier versions had. Help does not show it.
func oneSpelling(_ *pflag.FlagSet, name string) pflag.NormalizedName {
	switch name {
	case "tlscert", "tlskey", "tlsca", "tlsfirst":
		name = "tls-" + strings.TrimPrefix(name, "tls")
	}
	return pflag.NormalizedName(name)
}

// natsVariables maps flags to the variables of the nats command line.
var natsVariables = map[string]string{
	"server":   "NATS_URL",
	"creds":    "NATS_CREDS",
	"user":     "NATS_USER",
	"password": "NATS_PASSWORD",
	"nkey":     "NATS_NKEY",
	"tls-cert": "NATS_CERT",
	"tls-key":  "NATS_KEY",
	"tls-ca":   "NATS_CA",
	"timeout":  "NATS_TIMEOUT",
	"context":  "NATS_CONTEXT",
}

// Load loads the settings of a command, and refuses what cannot work.
func (c *Flags) Load(flags *pflag.FlagSet) error {
	s, err := settings.Load(flags)
	if err != nil {
		return err
	}
	return c.Check(s)
}

// Where returns the URL of NATS without secrets.
func (c *Flags) Where() string { return request.WithoutSecrets(c.server) }

// Check refuses what cannot work, before anything is sent.
func (c *Flags) Check(s *settings.Settings) error {
	c.Patient = s.Given["timeout"] != ""
	if _, err := messages.ParsePrefix(c.Prefix); err != nil {
		return cli.BadValue(s.Given["prefix"], c.Prefix, err)
	}
	return cmp.Or(
		cli.CheckTenant(c.Tenant, c.anyTenant),
		c.login.Check(s),
		s.Together("a certificate and its key belong together", "tls-cert", "tls-key"),
		s.CheckFiles("tls-cert", "tls-key", "tls-ca"),
		CheckInboxPrefix(s.Given["inbox-prefix"], c.inboxPrefix),
		c.useContext(s),
	)
}

// options disable the buffer of an interrupted connection: it would send requests at an unknown time.
func (c *Flags) options(name string) ([]nats.Option, error) {
	options := []nats.Option{
		nats.Name("holdfast " + name),
		nats.Timeout(min(c.Timeout.Duration, dialTimeout)),
		nats.ReconnectBufSize(-1),
		nats.MaxReconnects(-1),
		nats.ReconnectWait(100 * time.Millisecond),
		nats.ErrorHandler(func(*nats.Conn, *nats.Subscription, error) {}), // the default prints to stderr
	}
	login, err := c.login.Options()
	if err != nil {
		return nil, err
	}
	options = append(options, login...)
	if c.userJWT != "" {
		options = append(options, nats.UserJWTAndSeed(c.userJWT, c.userSeed))
	}
	if c.inboxPrefix != "" {
		options = append(options, nats.CustomInboxPrefix(c.inboxPrefix))
	}
	// A path is that of a proxy for WebSocket.
	first, _, _ := strings.Cut(c.server, ",")
	if u, err := url.Parse(strings.TrimSpace(first)); err == nil && u.IsAbs() && u.Path != "" {
		options = append(options, nats.ProxyPath(u.Path))
	}
	return append(options, c.tlsOptions()...), nil
}

func (c *Flags) tlsOptions() (options []nats.Option) {
	if c.tlsCA != "" {
		options = append(options, nats.RootCAs(c.tlsCA))
	}
	if c.tlsCert != "" {
		options = append(options, nats.ClientCert(c.tlsCert, c.tlsKey))
	}
	if c.tlsFirst {
		options = append(options, nats.TLSHandshakeFirst())
	}
	return options
}

// CheckInboxPrefix refuses what is no subject for answers. where names the source of the prefix.
func CheckInboxPrefix(where, prefix string) error {
	if prefix == "" {
		return nil
	}
	if err := nats.CustomInboxPrefix(prefix)(&nats.Options{}); err != nil || strings.ContainsAny(prefix, " \t\r\n") {
		return exit.Usagef("%s: a subject without spaces and wildcards, as in _INBOX_alice, got %s",
			where, display.Quote(prefix))
	}
	if strings.HasPrefix(prefix, "$") {
		return exit.Usagef("%s: a subject that does not begin with $, because a node sends no answer there, got %s",
			where, display.Quote(prefix))
	}
	return nil
}
