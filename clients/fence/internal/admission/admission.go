// Package admission decides whether a request with headers, of HTTP or NATS, may reach its handler.
package admission

import (
	"context"
	"fmt"
	"time"

	"github.com/holdfast-io/holdfast/clients/fence"
	"github.com/holdfast-io/holdfast/messages"
)

// Gate is what a guard of handlers checks requests with. R is what a resource is found by.
type Gate[R any] struct {
	Marks    fence.Marks
	Resource func(R) (string, error) // names the resource of a request; nil: the header does
	Optional bool                    // a request without a claim passes
	Timeout  time.Duration           // for raising a mark; 0: as long as the context lasts
	Guard    string                  // the package of the guard, for its observer
	Observer fence.Observer
}

// Admit raises the high-water mark of the claim in a request's header and returns a context that carries the
// claim. A header that names another resource than the request is [fence.ErrInvalid]. Without a claim the result
// is ctx or [fence.ErrMissing]; otherwise errors are those of [fence.Marks].
func (g *Gate[R]) Admit(ctx context.Context, header map[string][]string, request R) (context.Context, error) {
	c, shown, err := g.claim(header, request)
	switch {
	case err != nil:
		return nil, err
	case !shown && g.Optional:
		return ctx, nil
	case !shown:
		return nil, fence.ErrMissing
	}
	if err := g.raise(ctx, c); err != nil {
		return nil, err
	}
	return fence.NewContext(ctx, c), nil
}

func (g *Gate[R]) raise(ctx context.Context, c fence.Claim) (err error) {
	defer g.Observer.Conclude(g.Guard, c, &err)
	if err := c.Check(); err != nil {
		return err
	}
	if g.Timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, g.Timeout)
		defer cancel()
	}
	return g.Marks.Raise(ctx, c)
}

// claim reads the claim of a request; shown is false if there is none.
func (g *Gate[R]) claim(header map[string][]string, request R) (c fence.Claim, shown bool, err error) {
	c, shown, err = messages.ClaimFromHeader(header)
	if err != nil || !shown || g.Resource == nil {
		return c, shown, err
	}
	claimed := c.Resource
	if c.Resource, err = g.Resource(request); err != nil {
		return c, true, fmt.Errorf("%w: %w", fence.ErrInvalid, err)
	}
	if claimed != "" && claimed != c.Resource {
		return c, true, fmt.Errorf("%w: the claim is for %q, the request for %q", fence.ErrInvalid, claimed, c.Resource)
	}
	return c, true, nil
}
