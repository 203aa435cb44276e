package cli

import (
	"cmp"
	"strings"

	"github.com/holdfast-io/holdfast/cmd/holdfast/internal/display"
)

// Resource is a resource of a listing.
type Resource struct {
	Name string
	// Tenant is the account whose resource it is; empty: it is of none.
	Tenant string
}

// ResourceOf returns the resource of a lease or of a queue.
func ResourceOf(m interface {
	GetResource() string
	GetTenant() string
}) Resource {
	return Resource{m.GetResource(), m.GetTenant()}
}

// String returns the resource for people: orders.42, and orders.42 of tenant ORDERS.
func (r Resource) String() string { return display.Name(r.Name) + OfTenant(r.Tenant) }

// Compare orders resources by name and tenant.
func (r Resource) Compare(s Resource) int {
	return cmp.Or(strings.Compare(r.Name, s.Name), strings.Compare(r.Tenant, s.Tenant))
}
