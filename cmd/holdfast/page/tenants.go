package page

import (
	"context"
	"fmt"
	"net/url"
	"slices"

	"github.com/holdfast-io/holdfast/messages"
)

// tenants is what a view shows of tenants: nothing if the deployment has none.
type tenants struct {
	// Tenant is whose locks are shown: an account; "*": all, of all tenants and of none; empty: those of no tenant.
	Tenant string
	// Tenanted: the deployment has tenants, or the browser has asked for one.
	Tenanted bool
	// asked: the browser has said whose.
	asked bool
}

func openTenants(query url.Values) (tenants, error) {
	t := tenants{Tenant: query.Get("tenant"), asked: query.Has("tenant"), Tenanted: query.Has("tenant")}
	if t.Tenant == messages.AllTenants {
		return t, nil
	}
	return t, checkTenant(t.Tenant)
}

// checkTenant refuses what cannot be a tenant. Empty is none.
func checkTenant(name string) error {
	if name == "" {
		return nil
	}
	if err := messages.CheckTenant(name); err != nil {
		return fmt.Errorf("%w: %w", errInput, err)
	}
	return nil
}

// choose chooses all tenants if the deployment has some, unless the browser has said whose.
func (t *tenants) choose(ctx context.Context, d *deployment) error {
	if t.asked {
		return nil
	}
	info, err := d.client.Info(ctx)
	if err != nil {
		return err
	}
	t.Tenant, t.Tenanted = "", slices.Contains(info.Features, messages.FeatureTenants)
	if t.Tenanted {
		t.Tenant = messages.AllTenants
	}
	return nil
}

// query adds to a link whose locks are shown.
func (t *tenants) query(link url.Values) url.Values {
	if t.Tenanted {
		link.Set("tenant", t.Tenant)
	}
	return link
}
