package page

import (
	"context"
	"fmt"
	"iter"
	"net/url"

	"github.com/holdfast-io/holdfast/clients/holdfast"
	"github.com/holdfast-io/holdfast/cmd/holdfast/internal/cli"
)

// selection is the locks that a view is about.
type selection struct {
	// Pattern is as it was typed, and key the same in the encoding of the contract.
	Pattern, key string
	tenants
}

func openSelection(query url.Values) (s selection, err error) {
	s.Pattern = query.Get("pattern")
	if s.tenants, err = openTenants(query); err != nil || s.Pattern == "" {
		return s, err
	}
	pattern, err := cli.ParsePattern(s.Pattern)
	if err != nil {
		return s, fmt.Errorf("%w: %w", errInput, err)
	}
	s.key = pattern.Key
	return s, nil
}

// single reports whether it is one lock that was not selected by a pattern.
func (s selection) single() bool { return s.key != "" && s.Pattern == "" }

// watch reads their changes from the journals.
func (s selection) watch(ctx context.Context, c *holdfast.Client,
	opts ...holdfast.WatchOption) iter.Seq2[holdfast.Event, error] {
	return c.Watch(ctx, s.key, append(opts, holdfast.OfTenant(s.Tenant))...)
}
