package serve

import (
	"cmp"

	"github.com/spf13/pflag"

	"github.com/holdfast-io/holdfast/cmd/holdfast/internal/connect"
	"github.com/holdfast-io/holdfast/cmd/holdfast/internal/exit"
	"github.com/holdfast-io/holdfast/cmd/holdfast/internal/settings"
	"github.com/holdfast-io/holdfast/cmd/holdfast/server"
)

// login is the login of the node to NATS, where one is required.
type login struct{ connect.Login }

func (l *login) add(f *pflag.FlagSet) { l.Add(f) }

func (l *login) check(given *settings.Settings) error {
	if !requiresLogin(given) {
		for _, flag := range []string{"creds", "nkey", "user"} {
			if given.Has(flag) {
				return exit.Usagef("%s needs --server, --nats-config or --auth: without them no login is required",
					given.Given[flag])
			}
		}
	}
	return cmp.Or(given.Together("a user and a password belong together", "user", "password"), l.Check(given))
}

// requiresLogin reports whether NATS may require a login.
func requiresLogin(given *settings.Settings) bool {
	return given.Has(serverFlag) || given.Has("nats-config") || given.Has("auth")
}

func (l *login) apply(cfg *server.Config) error {
	logins := l.Login
	if cfg.NATS != nil { // it has the files
		logins.Creds, logins.NKey = "", ""
	}
	var err error
	cfg.Login, err = logins.Options()
	return err
}
