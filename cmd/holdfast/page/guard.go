package page

import (
	"fmt"
	"net/http"
)

// policy is the Content-Security-Policy of all answers: scripts and styles only from this server and none inline.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; " +
	"form-action 'self'; base-uri 'none'; frame-ancestors 'none'"

// guarded adds the headers that keep other sites out.
func guarded(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Security-Policy", policy)
		h.Set("Referrer-Policy", "same-origin")
		h.Set("Cross-Origin-Opener-Policy", "same-origin")
		h.Set("Cross-Origin-Resource-Policy", "same-origin")
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
			http.Error(w,
				fmt.Sprintf(
					"%d %s, and this node serves no more at a time; try again, or close other windows with the page",
					cap(places), what),
				http.StatusServiceUnavailable)
		}
	})
}
