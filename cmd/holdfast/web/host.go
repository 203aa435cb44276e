package web

import (
	"net"
	"net/http"
	"net/netip"
	"strings"
)

// localOnly refuses requests for another host than an IP address or localhost, so that a web site whose name is made to
// lead to this machine cannot read what is served to it.
func localOnly(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !isLocalName(r.Host) {
			http.Error(w,
				"this node serves HTTP under an IP address or localhost only; "+
					"a proxy has to set the header Host to one of them",
				http.StatusMisdirectedRequest)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// isLocalName reports whether the host of a request is localhost or an IP address, which no DNS server can choose.
func isLocalName(host string) bool {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	_, err := netip.ParseAddr(strings.TrimSuffix(strings.TrimPrefix(host, "["), "]"))
	return host == "localhost" || err == nil
}
