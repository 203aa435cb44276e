package connect

import (
	"cmp"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"

	"github.com/holdfast-io/holdfast/cmd/holdfast/internal/display"
	"github.com/holdfast-io/holdfast/cmd/holdfast/internal/exit"
	"github.com/holdfast-io/holdfast/cmd/holdfast/internal/settings"
)

// natsContext is a context of the nats command line: the URL of a NATS server and a login. Its other keys describe it
// or concern the nats command alone.
type natsContext struct {
	URL         string `json:"url"`
	Token       string `json:"token"`
	User        string `json:"user"`
	Password    string `json:"password"`
	Creds       string `json:"creds"`
	NKey        string `json:"nkey"`
	UserJWT     string `json:"user_jwt"`
	UserSeed    string `json:"user_seed"`
	Cert        string `json:"cert"`
	Key         string `json:"key"`
	CA          string `json:"ca"`
	InboxPrefix string `json:"inbox_prefix"`
	TLSFirst    bool   `json:"tls_first"`

	// These are refused: ignoring them would connect in another way than the nats command does.
	NSC            string   `json:"nsc"`
	SocksProxy     string   `json:"socks_proxy"`
	Domain         string   `json:"jetstream_domain"`
	APIPrefix      string   `json:"jetstream_api_prefix"`
	WindowsStore   string   `json:"windows_cert_store"`
	WindowsCert    string   `json:"windows_cert_match"`
	WindowsCACerts []string `json:"windows_ca_certs_match"`
}

// contextDir returns the directory of the nats command line.
func contextDir() (string, error) {
	dir := os.Getenv("XDG_CONFIG_HOME")
	if dir == "" {
		home, err := os.UserHomeDir()
		if err != nil {
			return "", err
		}
		dir = filepath.Join(home, ".config")
	}
	return filepath.Join(dir, "nats"), nil
}

// contextFile returns the path of a context of the nats command line.
func contextFile(name string) (string, error) {
	if name != filepath.Base(name) || strings.HasPrefix(name, ".") {
		return "", exit.Usagef("--context: the name of a context of the nats command line, got %q", name)
	}
	dir, err := contextDir()
	if err != nil {
		return "", exit.Usagef("--context: %w", err)
	}
	return filepath.Join(dir, "context", name+".json"), nil
}

// selectedContext returns the context that nats context select has chosen, empty for none. It is not used by itself:
// the same command would take a lock elsewhere after the selection has changed.
func selectedContext() string {
	dir, err := contextDir()
	if err != nil {
		return ""
	}
	name, err := os.ReadFile(filepath.Join(dir, "context.txt"))
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(name))
}

func readContext(name string) (*natsContext, error) {
	path, err := contextFile(name)
	if err != nil {
		return nil, err
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, exit.Usagef("--context: cannot read %q: %w; list the contexts with: nats context ls",
			path, settings.RootCause(err))
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

// supported refuses a context with a setting that holdfast does not have.
func (n *natsContext) supported(path string) error {
	for _, setting := range []struct{ name, value, instead string }{
		{"nsc", n.NSC, "give --creds with the file that nsc generate creds writes"},
		{"socks_proxy", n.SocksProxy, "connect without it"},
		{"jetstream_domain", n.Domain, "connect to a server of that domain"},
		{"jetstream_api_prefix", n.APIPrefix, "connect to the account of the nodes"},
		{"windows_cert_store", n.WindowsStore, windowsInstead},
		{"windows_cert_match", n.WindowsCert, windowsInstead},
		{"windows_ca_certs_match", strings.Join(n.WindowsCACerts, " "), windowsInstead},
	} {
		if setting.value != "" {
			return exit.Usagef("--context: %q has %s, which holdfast does not support; %s",
				path, setting.name, setting.instead)
		}
	}
	for _, file := range []struct{ name, path string }{
		{"creds", n.Creds}, {"nkey", n.NKey}, {"cert", n.Cert}, {"key", n.Key}, {"ca", n.CA},
	} {
		if scheme, _, isURI := strings.Cut(file.path, "://"); isURI {
			return exit.Usagef(
				"--context: %q has a %s of %s://, which holdfast does not support; write it to a file and name that",
				path, file.name, scheme)
		}
	}
	if (n.UserJWT == "") != (n.UserSeed == "") {
		return exit.Usagef("--context: %q has one of user_jwt and user_seed; they belong together, or give --creds",
			path)
	}
	return nil
}

const windowsInstead = "give files with --tls-cert, --tls-key and --tls-ca"

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
		c.login = Login{
			Creds: fromHome(n.Creds), NKey: fromHome(n.NKey), User: cmp.Or(n.User, n.Token), Password: n.Password,
		}
		c.userJWT, c.userSeed = n.UserJWT, n.UserSeed
	}
	if !s.Has("tls-cert") {
		c.tlsCert, c.tlsKey = fromHome(n.Cert), fromHome(n.Key)
	}
	if !s.Has("tls-ca") {
		c.tlsCA = fromHome(n.CA)
	}
	c.tlsFirst = c.tlsFirst || n.TLSFirst && !s.Has("tls-first")
	c.inboxPrefix = cmp.Or(c.inboxPrefix, n.InboxPrefix)
	where := "the context " + display.Name(c.context)
	for _, path := range []string{c.login.Creds, c.login.NKey, c.tlsCert, c.tlsKey, c.tlsCA} {
		if err := settings.CheckFile(where, path); err != nil {
			return err
		}
	}
	return CheckInboxPrefix(where+", inbox_prefix", c.inboxPrefix)
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
