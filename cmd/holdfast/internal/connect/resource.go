package connect

import (
	"github.com/spf13/pflag"

	"github.com/holdfast-io/holdfast/cmd/holdfast/internal/cli"
	"github.com/holdfast-io/holdfast/messages"
)

// LoadResource is [Flags.Load] for a command about one resource, which is written as in text. It returns the name and
// the key of the resource.
func (c *Flags) LoadResource(flags *pflag.FlagSet, text string) (resource, key string, err error) {
	resource = messages.NormalizeResource(text)
	if key, err = messages.EncodeKey(resource); err != nil {
		return "", "", cli.BadRequest(err)
	}
	return resource, key, c.Load(flags)
}

// OfTenant returns what --tenant selects, for a sentence: " of tenant ORDERS"; empty: no tenant, or all of them.
func (c *Flags) OfTenant() string {
	if c.Tenant == messages.AllTenants {
		return ""
	}
	return cli.OfTenant(c.Tenant)
}
