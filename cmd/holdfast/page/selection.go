package page

import (
	"context"
	"iter"

	"github.com/holdfast-io/holdfast/clients/holdfast"
)

// selection is what changes are read from the journals.
type selection struct {
	pattern string
	tenants
}

// watch reads them.
func (s selection) watch(ctx context.Context, c *holdfast.Client, opts ...holdfast.WatchOption) iter.Seq2[holdfast.Event, error] {
	return c.Watch(ctx, s.pattern, append(opts, holdfast.OfTenant(s.Tenant))...)
}
