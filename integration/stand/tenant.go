package stand

import (
	"regexp"

	"github.com/nats-io/nats.go"

	"github.com/holdfast-io/holdfast/cmd/holdfast/access"
	"github.com/holdfast-io/holdfast/messages"
)

// Tenant is the account of the clients in [TenantLogins].
const Tenant = "TENANT"

// password is that of all users of [TenantLogins].
const password = "pw"

var (
	passwordVariable = regexp.MustCompile(`\$\w+_PASSWORD`)
	accountUsers     = regexp.MustCompile(`(?m)^  (\w+) \{\n(?:    jetstream: enabled\n)?    users: \[$`)
)

// TenantLogins returns logins for the NATS servers of nodes, as holdfast access deployment --layout tenants prints them
// for one tenant. Each account also has a user that may do everything there, see [AsTenant] and [AsOperator].
func TenantLogins(shards uint32) string {
	plan := access.Plan{
		Deployment: access.Deployment{Prefix: messages.DefaultPrefix, Shards: shards}, Layout: access.Tenants,
		Applications: []access.Application{{Name: Tenant, Keys: []string{">"}}},
	}
	text := passwordVariable.ReplaceAllString(plan.Conf(), password)
	return accountUsers.ReplaceAllString(text, "$0\n      { user: \"all-of-$1\", password: \""+password+"\" }")
}

// AsTenant logs in to the account of the tenant, AsOperator to that of the nodes. Each may do everything there.
func AsTenant() nats.Option { return nats.UserInfo("all-of-"+Tenant, password) }

// AsOperator is described at [AsTenant].
func AsOperator() nats.Option { return nats.UserInfo("all-of-HOLDFAST", password) }

// AsNode logs a node in. Its flags are those of holdfast serve.
func AsNode() (login nats.Option, flags []string) {
	return nats.UserInfo("holdfast", password), []string{"--user", "holdfast", "--password", password}
}
