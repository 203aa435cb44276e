// Package admission decides whether a request with headers, of HTTP or NATS, may reach its handler.
package admission

import (
	"context"
	"fmt"
	"time"

	"github.com/holdfast-io/holdfast/clients/fence"
	"github.com/holdfast-io/holdfast/messages"
)

// Gate is what a guard of handlers checks requests with.
type Gate struct {
	Marks    fence.Marks
	Optional bool          // a request without a claim passes
	Timeout  time.Duration // for raising a mark; 0: as long as the context lasts
	Guard    string        // the package of the guard, for its observer
	Observer fence.Observer
}

// Admit raises the high-water mark of the claim in a header and returns a context that carries the claim.
// resource, unless nil, names the resource of the request; a header that names another one is
// [fence.ErrInvalid]. Without a claim the result is ctx or [fence.ErrMissing]; otherwise errors are those
// of [fence.Marks].
func (g *Gate) Admit(ctx context.Context, header map[string][]string, resource func() (string, error)) (context.Context, error) {
	c, shown, err := claim(header, resource)
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

func (g *Gate) raise(ctx context.Context, c fence.Claim) (err error) {
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
func claim(header map[string][]string, resource func() (string, error)) (c fence.Claim, shown bool, err error) {
	c, shown, err = messages.ClaimFromHeader(header)
	if err != nil || !shown || resource == nil {
		return c, shown, err
	}
	claimed := c.Resource
	if c.Resource, err = resource(); err != nil {
		return c, true, fmt.Errorf("%w: %w", fence.ErrInvalid, err)
	}
	if claimed != "" && claimed != c.Resource {
		return c, true, fmt.Errorf("%w: the claim is for %q, the request for %q", fence.ErrInvalid, claimed, c.Resource)
	}
	return c, true, nil
}
