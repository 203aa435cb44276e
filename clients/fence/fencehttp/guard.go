package fencehttp

import (
	"net/http"

	"github.com/holdfast-io/holdfast/clients/fence"
	"github.com/holdfast-io/holdfast/clients/fence/internal/admission"
)

// guard holds what all handlers of one middleware share.
type guard struct {
	gate    admission.Gate[*http.Request]
	refused func(*http.Request, error)
	reads   bool
}

// Option changes how handlers are guarded.
type Option func(*guard)

// WithResource takes the resource of a request from the request itself, such as by its path, rather
// than by its header. A header that names another resource is refused. So is a request for which f
// returns an error, whose text its client is shown.
func WithResource(f func(*http.Request) (string, error)) Option {
	return func(g *guard) { g.gate.Resource = f }
}

// WithOptionalClaims lets requests pass that show no claim, for the time until all clients lock. A claim
// that is shown is checked.
func WithOptionalClaims() Option {
	return func(g *guard) { g.gate.Optional = true }
}

// WithGuardedReads guards GET, HEAD, OPTIONS and TRACE as well: for clients that read before they write, and for
// handlers that change something on them.
func WithGuardedReads() Option {
	return func(g *guard) { g.reads = true }
}

// OnRefused has f called, concurrently, for each request that is refused or whose claim could not be
// checked, such as to log it. The client is not shown more of the error than a [fence.Problem].
func OnRefused(f func(*http.Request, error)) Option {
	return func(g *guard) { g.refused = f }
}

// WithObserver sets the observer, which receives each claim that the guard has checked. Marks may have an observer of
// their own, which receives them too.
func WithObserver(o fence.Observer) Option {
	return func(g *guard) { g.gate.Observer = o }
}

// New returns a middleware that lets a request through after it has raised the mark of its claim in
// marks. The handler finds the claim in the request's context, by [fence.FromContext].
func New(marks fence.Marks, opts ...Option) func(http.Handler) http.Handler {
	g := &guard{gate: admission.Gate[*http.Request]{Marks: marks, Guard: "fencehttp"},
		refused: func(*http.Request, error) {}}
	for _, o := range opts {
		o(g)
	}
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { g.serve(w, r, next) })
	}
}

func (g *guard) serve(w http.ResponseWriter, r *http.Request, next http.Handler) {
	if !g.reads && isSafe(r.Method) {
		next.ServeHTTP(w, r)
		return
	}
	ctx, err := g.gate.Admit(r.Context(), r.Header, r)
	if err != nil {
		g.refused(r, err)
		Error(w, err)
		return
	}
	next.ServeHTTP(w, r.WithContext(ctx))
}

// isSafe reports the methods that, by RFC 9110, ask for nothing to be changed.
func isSafe(method string) bool {
	switch method {
	case http.MethodGet, http.MethodHead, http.MethodOptions, http.MethodTrace:
		return true
	}
	return false
}
