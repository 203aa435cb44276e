package main

import (
	"cmp"
	"io"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/holdfast-io/holdfast/messages"
)

// connection says how a command reaches a deployment, in the flags and variables that users of NATS
// know from its own command line.
type connection struct {
	server, creds, nkey    string
	user, password         string
	tlsCert, tlsKey, tlsCA string
	prefix                 string
	timeout                duration
	// context is the name of a context of the nats command line; empty: none. contextOptions come from it.
	context        string
	contextOptions []nats.Option
	// notices is where a person is told that a command still tries; nil: nowhere.
	notices io.Writer
}

func (c *connection) addTo(cmd *cobra.Command) {
	c.timeout = newDuration(15*time.Second, 10*time.Millisecond, 24*time.Hour)
	cmd.Flags().SetNormalizeFunc(oneSpelling)
	addFlags(cmd, sectionConnection, func(f *pflag.FlagSet) {
		f.StringVarP(&c.server, "server", "s", nats.DefaultURL, "connect to NATS at this `URL`, or several with commas")
		f.StringVar(&c.creds, "creds", "", "log in with this credentials `FILE`")
		f.StringVar(&c.user, "user", "", "log in with this `NAME`; without a password it is a token")
		f.StringVar(&c.password, "password", "", "`PASSWORD` for it; in the variable it does not show in ps")
		f.StringVar(&c.nkey, "nkey", "", "log in with the nkey seed in this `FILE`")
		f.StringVar(&c.tlsCert, "tls-cert", "", "show the certificate in this `FILE`")
		f.StringVar(&c.tlsKey, "tls-key", "", "its private key, in this `FILE`")
		f.StringVar(&c.tlsCA, "tls-ca", "", "trust the authorities in this `FILE`")
		f.StringVar(&c.context, "context", "", "take what is not given from this context of the nats command line, a `NAME`")
		f.Var(&c.timeout, "timeout", "how long to try for an answer, a wait not counted")
		f.StringVar(&c.prefix, "prefix", string(messages.DefaultPrefix), "what the deployment's subjects begin with, a `NAME`")
		for flag, variable := range natsVariables {
			setEnv(f.Lookup(flag), variable)
		}
		setEnv(f.Lookup("prefix"), ownEnv("prefix"))
		f.VisitAll(func(flag *pflag.Flag) { flag.Usage += " [$" + envOf(flag) + "]" })
	})
}

// oneSpelling lets the flags of the nats command line stand for ours, as earlier versions had them. They are
// not shown.
func oneSpelling(_ *pflag.FlagSet, name string) pflag.NormalizedName {
	switch name {
	case "tlscert", "tlskey", "tlsca":
		name = "tls-" + strings.TrimPrefix(name, "tls")
	}
	return pflag.NormalizedName(name)
}

// natsVariables are those of the nats command line.
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

// check refuses what cannot work, before anything is sent.
func (c *connection) check(s *settings) error {
	if _, err := messages.ParsePrefix(c.prefix); err != nil {
		return badValue(s.given["prefix"], c.prefix, err)
	}
	for _, flag := range []string{"creds", "nkey", "tls-cert", "tls-key", "tls-ca"} {
		if err := legibleFile(s, flag); err != nil {
			return err
		}
	}
	return cmp.Or(
		s.exclude("creds", []string{"nkey", "user"}, "choose one way to log in"),
		s.exclude("nkey", []string{"user"}, "choose one way to log in"),
		s.require("user", []string{"password"}, "a password belongs to a user"),
		s.require("tls-cert", []string{"tls-key"}, "a key belongs to a certificate"),
		s.require("tls-key", []string{"tls-cert"}, "a certificate is shown with its key"),
		c.useContext(s),
	)
}

// partingTime is how long a command that is over may be held up for what the service would find out by
// itself: a lease runs out, and a grant that reaches nobody is taken back. It is enough for the pause in
// which another node takes over from one that has died.
const partingTime = 3 * time.Second

func (c *connection) parting() time.Duration { return min(c.timeout.Duration, partingTime) }

// options keep nothing in a buffer while the connection is interrupted: a request that leaves later
// than its sender thinks is a request too many.
func (c *connection) options(name string) ([]nats.Option, error) {
	options := []nats.Option{
		nats.Name("holdfast " + name),
		nats.Timeout(min(c.timeout.Duration, dialTimeout)),
		nats.ReconnectBufSize(-1),
		nats.MaxReconnects(-1),
		nats.ReconnectWait(100 * time.Millisecond),
		nats.ErrorHandler(func(*nats.Conn, *nats.Subscription, error) {}), // else it prints by itself
	}
	options = append(options, c.contextOptions...)
	if c.creds != "" {
		options = append(options, nats.UserCredentials(c.creds))
	}
	if c.user != "" && c.password == "" {
		options = append(options, nats.Token(c.user))
	}
	if c.user != "" && c.password != "" {
		options = append(options, nats.UserInfo(c.user, c.password))
	}
	if c.tlsCA != "" {
		options = append(options, nats.RootCAs(c.tlsCA))
	}
	if c.tlsCert != "" {
		options = append(options, nats.ClientCert(c.tlsCert, c.tlsKey))
	}
	if c.nkey == "" {
		return options, nil
	}
	key, err := nats.NkeyOptionFromSeed(c.nkey)
	if err != nil {
		return nil, usage("--nkey: a file with an nkey's seed, got %q: %w", c.nkey, err)
	}
	return append(options, key), nil
}

// where returns the server's address without the secrets that a URL may hold.
func (c *connection) where() string { return withoutSecrets(c.server) }

// withoutSecrets returns the URLs as they may be shown.
func withoutSecrets(urls string) string {
	var shown []string
	for one := range strings.SplitSeq(urls, ",") {
		u, err := url.Parse(strings.TrimSpace(one))
		switch {
		case err == nil && u.Host != "":
			u.User = nil
			shown = append(shown, u.String())
		case strings.Contains(one, "@"):
			shown = append(shown, one[strings.LastIndex(one, "@")+1:])
		default:
			shown = append(shown, strings.TrimSpace(one))
		}
	}
	return strings.Join(shown, ",")
}

// legibleFile makes sure that the file of a flag can be read.
func legibleFile(s *settings, flag string) error {
	return legible(s.given[flag], s.flags.Lookup(flag).Value.String())
}

// legible makes sure that a file can be read, since NATS says less clearly why not. An empty path is no file.
func legible(where, path string) error {
	if path == "" {
		return nil
	}
	file, err := os.Open(path)
	if err != nil {
		return usage("%s: cannot read %q: %w", where, path, rootCause(err))
	}
	return file.Close()
}
