package simulation

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/nats-io/nats.go"

	"github.com/holdfast-io/holdfast/actors/node"
	"github.com/holdfast-io/holdfast/actors/node/identity"
	"github.com/holdfast-io/holdfast/clients/holdfast"
	"github.com/holdfast-io/holdfast/integration/linear"
	"github.com/holdfast-io/holdfast/integration/simulation/simnats"
	"github.com/holdfast-io/holdfast/messages"
)

const (
	// tenantShares divides the sessions of a shard: a tenant may have one share.
	tenantShares = 16
	// maxHeld is how many leases a tenant may have on a node: more than the load takes.
	maxHeld = 100
	// tenantsEach: of so many seeds one is of a trial with tenants.
	tenantsEach = 3
	// nodesAccount is that of the nodes, and plainAccount that of the clients of no tenant if owners are verified: each
	// has one user.
	nodesAccount, plainAccount = "ACCOUNT_OF_NODES", "ACCOUNT_OF_NONE"
)

// tenants are the accounts with resources of their own. No random text has their names by chance.
var tenants = []string{"TENANT_ALPHA", "TENANT_BETA"}

// serveTenants draws what a trial with tenants has.
func (x *Trial) serveTenants() {
	if x.Seed%tenantsEach != 0 {
		return
	}
	dice := rand.New(rand.NewPCG(x.Seed, 3))
	x.Tenants = make(map[string]node.TenantLimits)
	for _, name := range tenants {
		x.Tenants[name] = node.TenantLimits{Held: maxHeld}
	}
	x.Identity = []identity.Mode{identity.None, identity.None, identity.Account, identity.User}[dice.IntN(4)]
	x.Operators = x.Identity == identity.None && dice.IntN(2) == 0
	if t := &x.Tuning; t.MaxSessions > 0 || dice.IntN(2) == 0 {
		t.MaxSessions = tenantShares * (1 + dice.IntN(4))
	}
	x.Clients = max(x.Clients, 2*len(x.sides()))
	x.Names = max(4, x.Names-2) // there are as many of each side
}

// side is the clients of one account.
type side struct {
	// tenant is empty for those of none, and account and user without tenants.
	tenant, account, user string
	prefix                messages.Prefix
	// identity is what their owners begin with; empty: they are not verified.
	identity string
}

// sides returns those of a trial, that of no tenant first.
func (x Trial) sides() []side {
	first := side{prefix: messages.DefaultPrefix}
	if x.Tenants == nil {
		return []side{first}
	}
	if first.account = nodesAccount; x.Identity != identity.None {
		first.account = plainAccount
	}
	all := []side{first}
	for _, name := range tenants {
		all = append(all, side{tenant: name, account: name, prefix: messages.DefaultPrefix})
	}
	if last := &all[len(all)-1]; x.Operators {
		last.account, last.prefix = nodesAccount, last.prefix.Tenant(last.tenant)
	}
	for i := range all {
		s := &all[i]
		s.user = userOf(s.account)
		s.identity = map[identity.Mode]string{identity.Account: s.account, identity.User: s.user}[x.Identity]
	}
	return all
}

func userOf(account string) string { return "user-of-" + account }

// imported reports whether the requests of the side come through an import.
func (s side) imported() bool { return s.account != "" && s.account != nodesAccount }

// String returns what is said of an outcome that is not of all sides: nothing without a tenant.
func (s side) String() string {
	if s.tenant == "" {
		return ""
	}
	return " of " + s.tenant
}

const password = "p"

// login is how a user of an account logs in; empty: there are no accounts.
func login(user string) nats.Option {
	if user == "" {
		return nil
	}
	return nats.UserInfo(user, password)
}

// owner returns the name of an owner of the side.
func (s side) owner(name string) string { return linear.OwnerOf(s.identity, name) }

// client returns a client of the project.
func (s side) client(nc *nats.Conn, name string, opts ...holdfast.Option) (*holdfast.Client, error) {
	if s.identity != "" {
		opts = append(opts, holdfast.Defaults(holdfast.Owner(s.owner(name))))
	}
	return holdfast.New(nc, append(opts, holdfast.Prefix(string(s.prefix)))...)
}

// configure gives the servers the accounts of a trial with tenants.
func (x Trial) configure(n *simnats.Network) {
	if x.Tenants == nil {
		return
	}
	n.JetStream, n.Users = nodesAccount, make(map[string]simnats.User)
	for _, account := range append([]string{nodesAccount, plainAccount}, tenants...) {
		n.Users[userOf(account)] = simnats.User{Password: password, Account: account}
	}
	all := messages.DefaultPrefix
	n.Imports = []simnats.Import{
		{Account: plainAccount, From: nodesAccount, Subject: string(all) + ".>", To: string(all) + ".>",
			Share: x.Identity == identity.User},
	}
	for _, name := range tenants {
		own := string(all.Tenant(name))
		n.Imports = append(n.Imports,
			simnats.Import{Account: name, From: nodesAccount, Subject: own + ".>", To: string(all) + ".>",
				Share: x.Identity == identity.User},
			simnats.Import{Account: name, From: nodesAccount, Subject: own + ".event.>", To: string(all) + ".event.>",
				Stream: true})
	}
}

// delivered checks that a tenant does not see which accounts there are, also not its own: the names are nowhere else.
func (w *world) delivered(account string, message []byte) {
	if !slices.Contains(tenants, account) || w.trial.Identity != identity.None {
		return
	}
	for _, name := range append([]string{nodesAccount}, tenants...) {
		if bytes.Contains(message, []byte(name)) {
			w.note(fmt.Errorf("a client of %s sees %s: %q", account, name, message))
		}
	}
}
