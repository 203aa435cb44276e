package messages

import (
	"strconv"
	"strings"
)

// MaxTenantBytes fits the public key of an account.
const MaxTenantBytes = 128

// AllTenants asks a listing for the resources of all tenants, and of none.
const AllTenants = "*"

// tenantMark stands around the tenant in a qualified name. No name that a client may choose contains it.
const tenantMark = "\x1f"

// Qualify returns the name under which the service keeps a tenant's resource, or its session: what has the same name in
// two tenants, or in none, has different qualified names. Without a tenant it is the name itself.
func Qualify(tenant, name string) string {
	if tenant == "" {
		return name
	}
	return tenantMark + tenant + tenantMark + name
}

// Unqualify returns the tenant and the name that [Qualify] was given.
func Unqualify(qualified string) (tenant, name string) {
	rest, ok := strings.CutPrefix(qualified, tenantMark)
	if !ok {
		return "", qualified
	}
	tenant, name, _ = strings.Cut(rest, tenantMark)
	return tenant, name
}

// CheckTenant returns an [InvalidError] unless s can be the name of an account in a subject: 1 to [MaxTenantBytes]
// bytes without spaces, control characters, dots and wildcards.
func CheckTenant(s string) error {
	if err := CheckText("tenant", s, 1, MaxTenantBytes); err != nil {
		return err
	}
	if strings.ContainsAny(s, ".*> ") {
		return Invalid("tenant", "the name of an account without dots, wildcards and spaces", quote(s))
	}
	return nil
}

// KeyOf returns the key of the resource with this qualified name. It is that of the resource's own name, so that all
// tenants have the same shard for it. It returns an [InvalidError] if the tenant or the name cannot be one.
func KeyOf(qualified string) (string, error) {
	tenant, name := Unqualify(qualified)
	if name != qualified {
		if err := CheckTenant(tenant); err != nil {
			return "", err
		}
	}
	return EncodeKey(name)
}

// QuoteResource returns a qualified name for people, quoted: "orders.42", and "orders.42" of tenant "ORDERS".
func QuoteResource(qualified string) string {
	tenant, name := Unqualify(qualified)
	if name == qualified {
		return strconv.Quote(name)
	}
	return strconv.Quote(name) + " of tenant " + strconv.Quote(tenant)
}
