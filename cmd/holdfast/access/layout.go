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
	tenantOperator   = "tenant-operator"
)

// clientPrefix begins the subjects of clients in the layout [Import].
const clientPrefix messages.Prefix = "locks"

// responseThreshold is longer than the longest wait: NATS forgets a request through an import after that time.
const responseThreshold = "65m"

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

// Conf returns the plan as a section of a NATS configuration.
func (p Plan) Conf() string {
	t := &text{}
	switch p.Layout {
	case Single:
		t.line("# One account: users of the nodes, of operators and of clients. Users that read journals belong into an account")
		t.line("# of their own: see the layout accounts.")
		t.block("authorization {", "}", func() {
			t.users(append(append([]User{p.node()}, p.clients(p.Deployment)...), p.operator(), p.metrics()))
		})
	case Import:
		p.writeImport(t)
	default:
		p.writeAccounts(t)
	}
	return t.String()
}

func (p Plan) node() User {
	u := p.Node("holdfast", defaultInbox)
	if p.Users {
		u.NKey = "$HOLDFAST_NKEY"
	}
	return u
}

func (p Plan) operator() User {
	return p.Operator(OperatorTerms{User: "operator", Inbox: inboxOf("operator"), Keys: everything, Imported: p.Layout == Accounts || p.Layout == Tenants})
}

// tenantOperator returns the operator of all tenants. It is in the account of the nodes, because an account can import only its
// own name, and may not ask JetStream there.
func (p Plan) tenantOperator() User {
	return p.Operator(OperatorTerms{User: tenantOperator, Inbox: inboxOf(tenantOperator), Keys: everything, Tenant: messages.AllTenants})
}

func (p Plan) metrics() User { return p.Metrics("metrics", inboxOf("metrics")) }

// clients returns a user for each application.
func (p Plan) clients(d Deployment) (all []User) {
	for _, application := range p.Applications {
		all = append(all, p.client(d, application))
	}
	return all
}

func (p Plan) client(d Deployment, a Application) User {
	name := strings.ToLower(a.Name)
	return d.Client(ClientTerms{User: name, Inbox: inboxOf(name), Keys: a.Keys, Values: true, Sessions: true})
}

// writeImport writes one account that exports the operations and imports them under the prefix of clients.
func (p Plan) writeImport(t *text) {
	t.line("# One account, which imports its own service. Clients have the prefix %s; nodes run with --identity user.", clientPrefix)
	t.block("accounts {", "}", func() {
		t.block(nodesAccount+" {", "}", func() {
			t.line("jetstream: enabled")
			through := Deployment{Prefix: clientPrefix, Shards: p.Shards}
			t.users(append(append([]User{p.node()}, p.clients(through)...), p.operator(), p.metrics()))
			shares := p.shares(everything, clientUses...)
			for i := range shares {
				shares[i].local = string(clientPrefix) + strings.TrimPrefix(shares[i].local, string(p.Prefix))
			}
			t.exports(shares)
			t.imports(shares, p.Users)
		})
	})
}

// writeAccounts writes an account for nodes, one for operators, and one for each application.
func (p Plan) writeAccounts(t *text) {
	t.line("# %s is the account of the nodes and their journals. The other accounts import what their users may do: answers go", nodesAccount)
	t.line("# to the account that has asked, and nothing else of it reaches the nodes.")
	t.block("accounts {", "}", func() {
		operators := p.operatorShares()
		t.block(nodesAccount+" {", "}", func() {
			t.line("jetstream: enabled")
			users := []User{p.node()}
			if p.Layout == Tenants {
				users = append(users, p.tenantOperator())
			}
			t.users(users)
			t.exports(joined(p.applicationShares(Application{messages.AllTenants, everything}), operators))
			t.imports([]share{syncsShare(nodesAccount)}, false)
		})
		t.block(operatorsAccount+" {", "}", func() {
			reader := ReaderTerms{User: "watcher", Inbox: inboxOf("watcher"), Imported: true}
			agent := ReaderTerms{User: "agent", Inbox: inboxOf("agent"), Imported: true}
			t.users([]User{p.operator(), p.Watcher(reader), p.Agent(agent, everything), p.metrics()})
			t.imports(append(operators, syncsShare(operatorsAccount)), p.Users)
		})
		t.block(systemAccount+" {", "}", func() {
			t.users([]User{{Name: "system", Role: "an operator of NATS: nats server report jetstream, nats server cluster peer-remove", Rights: []Right{
				{For: "everything of its account, which has no locks", Publish: []string{">"}, Subscribe: []string{">"}},
			}}})
			t.exports([]share{syncsShare(nodesAccount + ", " + operatorsAccount)})
		})
		for _, application := range p.Applications {
			t.block(application.Name+" {", "}", func() {
				t.users([]User{p.client(p.Deployment, application)})
				t.imports(p.applicationShares(application), p.Users)
			})
		}
	})
}

// joined returns shares and those of others that export something else.
func joined(shares, others []share) []share {
	exported := make(map[string]bool)
	for _, s := range shares {
		exported[s.exported] = true
	}
	return append(shares, slices.DeleteFunc(slices.Clone(others), func(s share) bool { return exported[s.exported] })...)
}

// applicationShares returns what the account of an application uses. The name "*" stands for all of them.
func (p Plan) applicationShares(a Application) []share {
	if p.Layout == Tenants {
		return p.tenantShares(a.Name)
	}
	return p.shares(a.Keys, clientUses...)
}
