package request

import (
	"net/url"
	"strings"
)

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
