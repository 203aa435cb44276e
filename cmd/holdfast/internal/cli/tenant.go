package cli

import (
	"github.com/holdfast-io/holdfast/cmd/holdfast/internal/display"
	"github.com/holdfast-io/holdfast/messages"
)

// CheckTenant refuses a --tenant that cannot be one. With all it may be [messages.AllTenants].
func CheckTenant(tenant string, all bool) error {
	if tenant == "" || all && tenant == messages.AllTenants {
		return nil
	}
	if err := messages.CheckTenant(tenant); err != nil {
		return BadValue("--tenant", tenant, err)
	}
	return nil
}

// OfTenant returns " of tenant ORDERS" for a sentence, and nothing without a tenant.
func OfTenant(tenant string) string {
	if tenant == "" {
		return ""
	}
	return " of tenant " + display.Name(tenant)
}

// TenantFlag returns " --tenant ORDERS" for a command line, and nothing without a tenant.
func TenantFlag(tenant string) string {
	if tenant == "" {
		return ""
	}
	return " --tenant " + display.Name(tenant)
}
