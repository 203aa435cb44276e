package connect

import (
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/holdfast-io/holdfast/clients/holdfast"
	"github.com/holdfast-io/holdfast/cmd/holdfast/internal/cli"
	"github.com/holdfast-io/holdfast/messages"
)

// AddTenant adds the flag that selects a tenant. It follows [Flags.AddTo].
func (c *Flags) AddTenant(cmd *cobra.Command) {
	c.addTenant(cmd, "`ACCOUNT` whose locks are meant; for operators, who use the account of the nodes")
}

// AddTenants adds the flag that selects a tenant, or all of them. It follows [Flags.AddTo].
func (c *Flags) AddTenants(cmd *cobra.Command) {
	c.anyTenant = true
	c.addTenant(cmd, "`ACCOUNT` whose locks are meant, or * for all; for operators, who use the account of the nodes")
}

func (c *Flags) addTenant(cmd *cobra.Command, usage string) {
	cli.AddFlags(cmd, cli.SectionConnection, func(f *pflag.FlagSet) {
		f.StringVar(&c.Tenant, "tenant", "", usage)
	})
}

// Subjects returns the prefix of the subjects on which requests about a resource are sent: the tenant's, if one is
// selected.
func (c *Flags) Subjects() messages.Prefix { return c.SubjectsOf(c.Tenant) }

// SubjectsOf returns the prefix for the resources of a tenant; empty, or all tenants: for those of none.
func (c *Flags) SubjectsOf(tenant string) messages.Prefix {
	prefix := messages.Prefix(c.Prefix)
	if tenant == "" || tenant == messages.AllTenants {
		return prefix
	}
	return prefix.Tenant(tenant)
}

// Options returns the options of a client of the deployment. It is one of the tenant if the command is about no others:
// one that may be about all tenants has to say with each call whose locks it means.
func (c *Flags) Options() []holdfast.Option {
	options := []holdfast.Option{holdfast.Prefix(c.Prefix), holdfast.Timeout(c.Timeout.Duration)}
	if c.Tenant != "" && !c.anyTenant {
		options = append(options, holdfast.Tenant(c.Tenant))
	}
	return options
}
