package connect

import (
	"cmp"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"

	"github.com/nats-io/nats.go"

	"github.com/holdfast-io/holdfast/cmd/holdfast/internal/display"
	"github.com/holdfast-io/holdfast/cmd/holdfast/internal/exit"
	"github.com/holdfast-io/holdfast/cmd/holdfast/internal/settings"
)

// natsContext is a context of the nats command line: the URL of a NATS server and a login.
type natsContext struct {
	URL         string `json:"url"`
	Token       string `json:"token"`
	User        string `json:"user"`
	Password    string `json:"password"`
	Creds       string `json:"creds"`
	NKey        string `json:"nkey"`
	Cert        string `json:"cert"`
	Key         string `json:"key"`
	CA          string `json:"ca"`
	InboxPrefix string `json:"inbox_prefix"`
	TLSFirst    bool   `json:"tls_first"`

	// These are refused: ignoring them would connect in another way than the nats command does.
	NSC         string `json:"nsc"`
	UserJWT     string `json:"user_jwt"`
	UserSeed    string `json:"user_seed"`
	SocksProxy  string `json:"socks_proxy"`
	WindowsCert string `json:"windows_cert_match"`
}

// contextFile returns the path of a context of the nats command line.
func contextFile(name string) (string, error) {
	if name != filepath.Base(name) || strings.HasPrefix(name, ".") {
		return "", exit.Usagef("--context: the name of a context of the nats command line, got %q", name)
	}
	dir := os.Getenv("XDG_CONFIG_HOME")
	if dir == "" {
		home, err := os.UserHomeDir()
		if err != nil {
			return "", exit.Usagef("--context: %w", err)
		}
		dir = filepath.Join(home, ".config")
	}
	return filepath.Join(dir, "nats", "context", name+".json"), nil
}

func readContext(name string) (*natsContext, error) {
	path, err := contextFile(name)
	if err != nil {
		return nil, err
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, exit.Usagef("--context: cannot read %q: %w; list the contexts with: nats context ls", path, settings.RootCause(err))
	}
	return parseContext(path, text)
}

func parseContext(path string, text []byte) (*natsContext, error) {
	var n natsContext
	if err := json.Unmarshal(text, &n); err != nil {
		return nil, exit.Usagef("--context: cannot parse %q: %w", path, err)
	}
	return &n, n.supported(path)
}

func (n *natsContext) supported(path string) error {
	for _, setting := range []struct{ name, value string }{
		{"nsc", n.NSC},
		{"user_jwt", n.UserJWT},
		{"user_seed", n.UserSeed},
		{"socks_proxy", n.SocksProxy},
		{"windows_cert_match", n.WindowsCert},
	} {
		if setting.value != "" {
			return exit.Usagef("--context: %q has %s, which holdfast does not support; give --creds or --nkey instead of the context", path, setting.name)
		}
	}
	return nil
}

// useContext fills in what neither a flag nor a variable sets. A login is never combined from both.
func (c *Flags) useContext(s *settings.Settings) error {
	if c.context == "" {
		return nil
	}
	n, err := readContext(c.context)
	if err != nil {
		return err
	}
	if !s.Has("server") {
		c.server = cmp.Or(n.URL, c.server)
	}
	if !s.Has("creds") && !s.Has("nkey") && !s.Has("user") {
		c.creds, c.nkey = fromHome(n.Creds), fromHome(n.NKey)
		c.user, c.password = cmp.Or(n.User, n.Token), n.Password
	}
	if !s.Has("tls-cert") {
		c.tlsCert, c.tlsKey = fromHome(n.Cert), fromHome(n.Key)
	}
	if !s.Has("tls-ca") {
		c.tlsCA = fromHome(n.CA)
	}
	c.contextOptions = n.options()
	for _, path := range []string{c.creds, c.nkey, c.tlsCert, c.tlsKey, c.tlsCA} {
		if err := settings.CheckFile("the context "+display.Name(c.context), path); err != nil {
			return err
		}
	}
	return nil
}

func (n *natsContext) options() (options []nats.Option) {
	if n.InboxPrefix != "" {
		options = append(options, nats.CustomInboxPrefix(n.InboxPrefix))
	}
	if n.TLSFirst {
		options = append(options, nats.TLSHandshakeFirst())
	}
	return options
}

// fromHome replaces a leading ~ with the home directory.
func fromHome(path string) string {
	rest, is := strings.CutPrefix(path, "~/")
	home, err := os.UserHomeDir()
	if !is || err != nil {
		return path
	}
	return filepath.Join(home, rest)
}
