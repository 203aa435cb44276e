package serve

import (
	"cmp"

	"github.com/spf13/pflag"

	"github.com/holdfast-io/holdfast/cmd/holdfast/internal/connect"
	"github.com/holdfast-io/holdfast/cmd/holdfast/internal/exit"
	"github.com/holdfast-io/holdfast/cmd/holdfast/internal/settings"
	"github.com/holdfast-io/holdfast/cmd/holdfast/server"
	"github.com/holdfast-io/holdfast/jetstream/natsconn"
)

// serverFlag is the flag with the URL of an external NATS, as in the other commands, and formerServerFlag its name in
// earlier versions, which is still accepted.
const serverFlag, formerServerFlag = "server", "nats"

// externalNATS is a NATS outside of this process.
type externalNATS struct {
	config natsconn.Config
	// tls and login have the files of this client.
	tls   *tls
	login *login
}

func (e *externalNATS) add(f *pflag.FlagSet) {
	f.StringVar(&e.config.URL, serverFlag, "", "`URL` of NATS; several are separated by commas")
	f.BoolVar(&e.config.First, "tls-first", false, "begin with TLS, for a server with handshake_first")
	f.StringVar(&e.config.Inbox, "inbox-prefix", "",
		"`SUBJECT` with which the subjects of answers to this node begin (default _INBOX)")
}

func (e *externalNATS) check(given *settings.Settings) error {
	return cmp.Or(
		given.Require(serverFlag, []string{"tls-first", "inbox-prefix"}, "they are for an external NATS"),
		connect.CheckInboxPrefix(given.Given["inbox-prefix"], e.config.Inbox),
	)
}

func (e *externalNATS) apply(cfg *server.Config) error {
	if e.config.URL == "" {
		return nil
	}
	external := e.config
	external.Cert, external.Key, external.CA = e.tls.files.Cert, e.tls.files.Key, e.tls.files.CA
	external.Creds, external.NKey = e.login.Creds, e.login.NKey
	of, err := external.Connection()
	if err != nil {
		return &exit.Error{Code: startCode(err), Err: err}
	}
	cfg.NATS = &of
	return nil
}
