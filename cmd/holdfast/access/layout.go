package access

import (
	"slices"
	"strings"

	"github.com/holdfast-io/holdfast/messages"
)

// Layout is the way in which a deployment uses the accounts of NATS.
type Layout string

// The layouts.
const (
	// Single: clients and nodes are users of one account.
	Single Layout = "single"
	// Import: one account, which imports its own export, so that nodes know which user has sent a request.
	Import Layout = "import"
	// Accounts: nodes, operators and each application have an account.
	Accounts Layout = "accounts"
	// Tenants: as Accounts, and each application has resources of its own.
	Tenants Layout = "tenants"
)

// The accounts of nodes and operators, and that of NATS itself.
const (
	nodesAccount     = "HOLDFAST"
	operatorsAccount = "OPERATORS"
	systemAccount    = "$SYS"
)

// clientPrefix begins the subjects of clients in the layout [Import].
const clientPrefix messages.Prefix = "locks"

// Plan is a whole deployment.
type Plan struct {
	Deployment
	Layout Layout
	// Users: nodes verify the users of NATS, and not only their accounts. Its nodes log in with an nkey.
	Users bool
	// Applications are the accounts, or in one account the users, of clients.
	Applications []Application
}

// Application is an account of clients, in one account a user.
type Application struct {
	Name string
	// Keys are patterns of its resources.
	Keys []string
}

// account is an account of NATS.
type account struct {
	Name             string
	JetStream        bool
	Users            []User
	Exports, Imports []share
	// Verified: what it imports reports to nodes which user has sent a request.
	Verified bool
}

// Conf returns the plan as a section of a NATS configuration.
func (p Plan) Conf() string {
	switch p.Layout {
	case Single:
		return configuration("single", p.all(p.Deployment))
	case Import:
		return configuration("import", []account{p.importing()})
	}
	return configuration("separate", p.separate())
}

// all returns the users of a deployment in one account, whose clients have a prefix of their own.
func (p Plan) all(clients Deployment) []User {
	all := []User{p.node()}
	for _, a := range p.Applications {
		all = append(all, a.client(clients))
	}
	return append(all, p.operator(), p.metrics())
}

func (p Plan) node() User {
	u := p.Node(Terms{User: "holdfast"})
	if p.Users {
		u.NKey = "$NODE_NKEY" // HOLDFAST_NKEY is the setting of the node with the file of the seed
	}
	return u
}

func (p Plan) operator() User {
	return p.Operator(Terms{User: "operator", Keys: everything, Imported: p.Layout == Accounts || p.Layout == Tenants})
}

func (p Plan) metrics() User { return p.Metrics(Terms{User: "metrics"}) }

func (a Application) client(d Deployment) User {
	return d.Client(Terms{User: strings.ToLower(a.Name), Keys: a.Keys, Values: true, Sessions: true})
}

// importing returns one account that exports the operations and imports them under the prefix of clients.
func (p Plan) importing() account {
	shares := p.shares(everything, clientUses...)
	for i := range shares {
		shares[i].Local = string(clientPrefix) + strings.TrimPrefix(shares[i].Local, string(p.Prefix))
	}
	return account{
		Name: nodesAccount, JetStream: true, Users: p.all(Deployment{Prefix: clientPrefix, Shards: p.Shards, Others: p.Others}),
		Exports: shares, Imports: shares, Verified: p.Users,
	}
}

// separate returns an account for nodes, one for operators, that of NATS, and one for each application.
func (p Plan) separate() []account {
	operators := p.operatorShares()
	nodes := account{
		Name: nodesAccount, JetStream: true, Users: []User{p.node()},
		Exports: joined(p.applicationShares(Application{messages.AllTenants, everything}), operators),
		Imports: []share{syncsShare(nodesAccount)},
	}
	if p.Layout == Tenants {
		// In the account of the nodes, because an account can import only its own name. It may not ask JetStream there.
		nodes.Users = append(nodes.Users, p.Operator(Terms{User: "tenant-operator", Keys: everything,
			Tenant: messages.AllTenants}))
	}
	watcher, agent := Terms{User: "watcher", Imported: true}, Terms{User: "agent", Imported: true, Keys: everything}
	all := []account{nodes, {
		Name: operatorsAccount, Users: []User{p.operator(), p.Watcher(watcher), p.Agent(agent), p.metrics()},
		Imports: append(operators, syncsShare(operatorsAccount)), Verified: p.Users,
	}, {
		Name: systemAccount,
		Users: []User{{Name: "system",
			Role: "an operator of NATS: nats server report jetstream, nats server cluster peer-remove", Rights: []Right{
				{For: "everything of its account, which has no locks", Publish: []string{">"},
					Subscribe: []string{">"}},
			}}},
		Exports: []share{syncsShare(nodesAccount + ", " + operatorsAccount)},
	}}
	for _, a := range p.Applications {
		all = append(all, account{
			Name: a.Name, Users: []User{a.client(p.Deployment)}, Imports: p.applicationShares(a), Verified: p.Users,
		})
	}
	return all
}

// joined returns shares and those of others that export something else.
func joined(shares, others []share) []share {
	for _, s := range others {
		if !slices.ContainsFunc(shares, func(other share) bool { return other.Exported == s.Exported }) {
			shares = append(shares, s)
		}
	}
	return shares
}

// applicationShares returns what the account of an application uses. The name "*" stands for all of them.
func (p Plan) applicationShares(a Application) []share {
	if p.Layout == Tenants {
		return p.tenantShares(a.Name)
	}
	return p.shares(a.Keys, clientUses...)
}
