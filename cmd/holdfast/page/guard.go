package page

import (
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"strings"
)

// policy is the Content-Security-Policy of all answers: scripts and styles only from this server and none inline.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; " +
	"form-action 'self'; base-uri 'none'; frame-ancestors 'none'"

// guarded adds the headers that keep other sites out, and refuses a foreign name of this host.
func (p *Page) guarded(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Security-Policy", policy)
		h.Set("Referrer-Policy", "same-origin")
		h.Set("Cross-Origin-Opener-Policy", "same-origin")
		h.Set("Cross-Origin-Resource-Policy", "same-origin")
		if p.cfg.LocalOnly && !isLocal(r.Host) {
			http.Error(w, "this node serves its page under an IP address or localhost only; a proxy has to set the header Host to one of them",
				http.StatusMisdirectedRequest)
			return
		}
		if r.Header.Get("Sec-Fetch-Site") == "cross-site" && r.Header.Get("Sec-Fetch-Mode") != "navigate" {
			http.Error(w, "another site may lead to the page, and not load it in the background", http.StatusForbidden)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// bounded serves as many requests at a time as there are places, and refuses the others.
func bounded(places chan struct{}, what string, next http.HandlerFunc) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		select {
		case places <- struct{}{}:
			defer func() { <-places }()
			next(w, r)
		default:
			w.Header().Set("Retry-After", "10")
			http.Error(w, fmt.Sprintf("%d %s, and this node serves no more at a time; try again, or close other windows with the page", cap(places), what),
				http.StatusServiceUnavailable)
		}
	})
}

// isLocal reports whether the host of a request is localhost or an IP address, which no DNS server can choose.
func isLocal(host string) bool {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	_, err := netip.ParseAddr(strings.TrimSuffix(strings.TrimPrefix(host, "["), "]"))
	return host == "localhost" || err == nil
}
