package cli

import "github.com/holdfast-io/holdfast/cmd/holdfast/internal/display"

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
