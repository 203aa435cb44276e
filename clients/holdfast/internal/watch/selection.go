package watch

import "github.com/holdfast-io/holdfast/messages"

// Selection is what resources a loop covers.
type Selection struct {
	// Pattern selects by the key, in which the tenant is not.
	Pattern messages.Pattern
	// Tenant is whose resources: empty: those of no tenant; [messages.AllTenants]: all.
	Tenant string
}

// has reports whether a resource is selected, by its tenant and its own name.
func (s Selection) has(tenant, name string) bool {
	if s.Tenant != messages.AllTenants && s.Tenant != tenant {
		return false
	}
	key, err := messages.EncodeKey(name)
	return err == nil && s.Pattern.Matches(key)
}

// hasStored reports whether a resource is selected, by its name in a journal.
func (s Selection) hasStored(qualified string) bool { return s.has(messages.Unqualify(qualified)) }
