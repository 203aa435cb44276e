package connect

import (
	"net/url"
	"strings"
)

// Where returns the URL of NATS without secrets.
func (c *Flags) Where() string { return WithoutSecrets(c.server) }

// WithoutSecrets returns the URLs without users and passwords.
func WithoutSecrets(urls string) string {
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
