package fencehttp

import (
	"fmt"
	"net/http"

	"github.com/holdfast-io/holdfast/clients/fence"
	"github.com/holdfast-io/holdfast/messages"
)

// guard holds what all handlers of one middleware share.
type guard struct {
	marks    fence.Marks
	resource func(*http.Request) (string, error) // nil: the header says it
	refused  func(*http.Request, error)
	optional bool
	reads    bool
}

// Option changes how handlers are guarded.
type Option func(*guard)

// WithResource has the resource of a request told by the request itself, such as by its path, rather
// than by its header. A header that names another resource is refused. So is a request for which f
// returns an error, whose text its client is shown.
func WithResource(f func(*http.Request) (string, error)) Option {
	return func(g *guard) { g.resource = f }
}

// WithOptionalClaims lets requests pass that show no claim, for the time until all clients lock. A claim
// that is shown is checked.
func WithOptionalClaims() Option {
	return func(g *guard) { g.optional = true }
}

// WithGuardedReads guards GET, HEAD, OPTIONS and TRACE as well, for handlers that change something on
// them.
func WithGuardedReads() Option {
	return func(g *guard) { g.reads = true }
}

// OnRefused has f called, concurrently, for each request that is refused or whose claim could not be
// checked, such as to log it. The client is not shown more of the error than a [fence.Problem].
func OnRefused(f func(*http.Request, error)) Option {
	return func(g *guard) { g.refused = f }
}

// New returns a middleware that lets a request through after it has raised the mark of its claim in
// marks. The handler finds the claim in the request's context, by [fence.FromContext].
func New(marks fence.Marks, opts ...Option) func(http.Handler) http.Handler {
	g := &guard{marks: marks, refused: func(*http.Request, error) {}}
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
	c, shown, err := g.claim(r)
	if err == nil && !shown && g.optional {
		next.ServeHTTP(w, r)
		return
	}
	if err == nil && !shown {
		err = fence.ErrMissing
	}
	if err == nil {
		err = g.marks.Raise(r.Context(), c)
	}
	if err != nil {
		g.refused(r, err)
		Error(w, err)
		return
	}
	next.ServeHTTP(w, r.WithContext(fence.NewContext(r.Context(), c)))
}

// claim reads the claim of a request; shown is false if there is none.
func (g *guard) claim(r *http.Request) (c fence.Claim, shown bool, err error) {
	c, shown, err = messages.ClaimFromHeader(r.Header)
	if err != nil || !shown {
		return fence.Claim{}, shown, err
	}
	if g.resource != nil {
		if c.Resource, err = g.resourceOf(r, c.Resource); err != nil {
			return fence.Claim{}, true, err
		}
	}
	return c, true, c.Check()
}

// resourceOf asks the request, and compares what its header says, if anything.
func (g *guard) resourceOf(r *http.Request, claimed string) (string, error) {
	resource, err := g.resource(r)
	if err != nil {
		return "", fmt.Errorf("%w: %w", fence.ErrInvalid, err)
	}
	if claimed != "" && claimed != resource {
		return "", fmt.Errorf("%w: the claim is for %q, the request for %q", fence.ErrInvalid, claimed, resource)
	}
	return resource, nil
}

// isSafe tells the methods that, by RFC 9110, ask for nothing to be changed.
func isSafe(method string) bool {
	switch method {
	case http.MethodGet, http.MethodHead, http.MethodOptions, http.MethodTrace:
		return true
	}
	return false
}
