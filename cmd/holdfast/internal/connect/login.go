package connect

import (
	"cmp"

	"github.com/nats-io/nats.go"
	"github.com/spf13/pflag"

	"github.com/holdfast-io/holdfast/cmd/holdfast/internal/exit"
	"github.com/holdfast-io/holdfast/cmd/holdfast/internal/settings"
)

// Login is the flags with which a client logs in to NATS. Without any it does not.
type Login struct{ Creds, NKey, User, Password string }

// Add adds the flags.
func (l *Login) Add(f *pflag.FlagSet) {
	f.StringVar(&l.Creds, "creds", "", "credentials `FILE`")
	f.StringVar(&l.NKey, "nkey", "", "`FILE` with an nkey seed")
	f.StringVar(&l.User, "user", "", "user `NAME`")
	f.StringVar(&l.Password, "password", "", "its `PASSWORD`; the variable keeps it out of ps")
}

// Check refuses more than one way to log in, and files that cannot be read.
func (l *Login) Check(s *settings.Settings) error {
	return cmp.Or(
		s.Exclude("creds", []string{"nkey", "user"}, "choose one way to log in"),
		s.Exclude("nkey", []string{"user"}, "choose one way to log in"),
		s.Require("user", []string{"password"}, "a password requires a user"),
		s.CheckFiles("creds", "nkey"),
	)
}

// Options returns the options of a connection. A user without a password is a token.
func (l *Login) Options() (options []nats.Option, err error) {
	if l.Creds != "" {
		options = append(options, nats.UserCredentials(l.Creds))
	}
	switch {
	case l.User != "" && l.Password == "":
		options = append(options, nats.Token(l.User))
	case l.User != "":
		options = append(options, nats.UserInfo(l.User, l.Password))
	}
	if l.NKey != "" {
		key, err := nats.NkeyOptionFromSeed(l.NKey)
		if err != nil {
			return nil, exit.Usagef("--nkey: a file with an nkey's seed, got %q: %w", l.NKey, err)
		}
		options = append(options, key)
	}
	return options, nil
}
