package access

import (
	"strings"

	"github.com/holdfast-io/holdfast/messages"
)

// OperatorTerms say what an operator is for.
type OperatorTerms struct {
	User, Inbox string
	// Keys are patterns of the resources that it may break and confirm.
	Keys []string
	// Tenant is whose resources they are; empty: those of no tenant, [messages.AllTenants]: those of each.
	Tenant string
	// Doctor: it runs holdfast doctor with all checks.
	Doctor bool
	// Imported: its account imports what the doctor asks of JetStream, and has none itself.
	Imported bool
}

// doctorKeys are the keys at which the doctor looks to see whether shards commit.
var doctorKeys = []string{"holdfast-doctor.>"}

// Operator returns a user that sees all locks, breaks them and confirms losses, and acquires none.
func (d Deployment) Operator(t OperatorTerms) User {
	of, role := d, "an operator of "+strings.Join(t.Keys, " and ")
	switch t.Tenant {
	case "":
	case messages.AllTenants:
		of.Prefix, role = d.Prefix.Tenant(t.Tenant), role+" of all tenants"
	default:
		of.Prefix, role = d.Prefix.Tenant(t.Tenant), role+" of the tenant "+t.Tenant
	}
	u := User{Name: t.User, Role: role, Rights: []Right{
		of.info(), of.listing(),
		{For: "a look at a lock", Publish: of.on(t.Keys, operations(useLooks)...)},
		{For: "breaks", Publish: of.on(t.Keys, operations(useBreaks)...)},
		{For: "confirmations of losses", Publish: of.on(t.Keys, operations(useConfirmations)...)},
		{For: "statistics", Publish: []string{statistics}},
	}}
	if t.Tenant == messages.AllTenants {
		u.Rights = append(u.Rights, d.info(), d.listing())
	}
	if t.Doctor || t.Imported {
		u.Rights = append(u.Rights,
			Right{For: "commits of all shards", Publish: d.on(doctorKeys, operations(useLooks)...)},
			Right{For: "its own permissions", Publish: []string{"$SYS.REQ.USER.INFO"}},
			Right{For: "storage and replicas", Publish: append([]string{jetStream + "INFO", syncs}, d.journals(streamInfo)...)},
		)
	}
	switch {
	case t.Imported: // answers stay in the account of operators
		u.Rights = append(u.Rights, Right{For: "replicas, through an import", Publish: d.importedJournals(streamInfo)})
	case t.Doctor:
		u.Warnings = append(u.Warnings, writesByReply)
	}
	u.Rights = append(u.Rights, answers(t.Inbox))
	of.hear(&u, "changes of locks", t.Keys)
	return u
}

// statistics is the subject on which nodes tell what they count.
const statistics = "$SRV.STATS.holdfast"

// Metrics returns a user that reads what nodes count, as nats micro stats does, and who they are.
func (d Deployment) Metrics(name, inbox string) User {
	return User{Name: name, Role: "a reader of statistics", Rights: []Right{
		d.info(),
		{For: "nats micro info, stats and ping of holdfast", Publish: []string{
			"$SRV.PING.holdfast", "$SRV.INFO.holdfast", statistics,
			"$SRV.PING.holdfast.*", "$SRV.INFO.holdfast.*", statistics + ".*",
		}},
		answers(inbox),
	}}
}
