package access

import (
	"cmp"
	"slices"
	"strings"

	"github.com/holdfast-io/holdfast/messages"
)

// Terms say what a user is for. Each role has some of them.
type Terms struct {
	// User is its name, and Inbox what its inboxes begin with; empty: as its role has it by default.
	User, Inbox string
	// Keys are patterns of the resources: those that a client locks, and that an operator breaks and confirms.
	Keys []string
	// Of a client. Values: it changes the metadata of its leases. Sessions: it keeps many leases with one request.
	// Listing: it lists all locks. Batches: it sends many requests in one message.
	Values, Sessions, Listing, Batches bool
	// Tenant is whose resources those of an operator are; empty: those of no tenant, [messages.AllTenants]: those of
	// each.
	Tenant string
	// Doctor: an operator runs holdfast doctor with all checks.
	Doctor bool
	// Consumers: a reader of journals creates consumers, which are faster.
	Consumers bool
	// Imported: the account of an operator or reader imports what it asks of JetStream, and has none itself.
	Imported bool
}

// defaultInbox begins the inboxes of a client that chooses no prefix.
const defaultInbox = "_INBOX"

// answers is the right to what is sent to the inboxes of a user. Others cannot read them.
func (t Terms) answers() Right {
	inbox := cmp.Or(t.Inbox, defaultInbox+"."+t.User)
	// mutant: InboxesOfOthers
	return Right{For: "answers; the client needs the inbox prefix " + inbox, Subscribe: []string{inbox + ".>"}}
}

// of says which resources a user is for.
func (t Terms) of() string { return strings.Join(t.Keys, " and ") }

// Node returns the user of the nodes, whose inbox prefix is also what the inboxes of clients begin with.
func (d Deployment) Node(t Terms) User {
	all := []string{string(d.Prefix) + ".>"}
	inboxes, events := cmp.Or(t.Inbox, defaultInbox)+".>", d.Prefix.EventStream()
	return User{Name: t.User, Role: "the nodes", Rights: []Right{
		{For: "requests, messages between nodes, events", Publish: all, Subscribe: all,
			Warnings: []string{"give this login to nodes only: it can do everything in the deployment"}},
		{For: "answers, also through service imports", Publish: []string{inboxes, imported},
			Subscribe: []string{inboxes}},
		{For: "information and statistics", Subscribe: []string{"$SRV.*", "$SRV.*.holdfast", "$SRV.*.holdfast.*"}},
		{For: "the journals", Publish: append([]string{jetStream + "STREAM.NAMES"}, d.journals(
			jetStream+"STREAM.CREATE.KV_%s", jetStream+"STREAM.UPDATE.KV_%s", streamInfo,
			jetStream+"STREAM.PURGE.KV_%s", messageGet,
			jetStream+"STREAM.LEADER.STEPDOWN.KV_%s",
		)...)},
		{For: "another number of shards", Publish: d.register(
			jetStream+"STREAM.CREATE.KV_%s", jetStream+"STREAM.UPDATE.KV_%s", streamInfo, messageGet, records,
		)},
		{For: "the page: what all nodes count, and what the account may store",
			Publish: []string{statistics, jetStream + "INFO"}},
		{For: "whether NATS syncs each write, if the account imports that", Publish: []string{syncs}},
		{For: "records", Publish: append(d.journals(records), d.journals(consuming...)...)},
		{For: "retained events", Publish: []string{
			jetStream + "STREAM.CREATE." + events, jetStream + "STREAM.UPDATE." + events,
			jetStream + "STREAM.INFO." + events, jetStream + "STREAM.MSG.GET." + events,
		}},
	}}
}

// Client returns a user that takes locks.
func (d Deployment) Client(t Terms) User {
	listing := d.listing()
	listing.Warnings = []string{"it sees the names, owners and metadata of all locks"}
	return User{Name: t.User, Role: "a client of " + t.of(), Rights: []Right{
		d.info(),
		{For: "locks", Publish: d.on(t.Keys, operations(useLocks, useLooks)...)}, // mutant: ClientBreaks
		Right{For: "metadata of its leases", Publish: d.on(t.Keys, operations(useValues)...)}.when(t.Values),
		Right{For: "sessions; their ids are the right to keep them",
			Publish: d.on(everything, operations(useSessions)...)}.when(t.Sessions),
		listing.when(t.Listing),
		Right{For: "batches", Publish: []string{d.Prefix.BatchOfAll()}, Warnings: []string{
			"a batch may take, release, break and confirm every lock: its resources are in the payload",
		}}.when(t.Batches),
		t.answers(),
		d.events("the end of its leases, at once", t.Keys),
	}}
}

// doctorKeys are the keys at which the doctor looks to see whether shards commit.
var doctorKeys = []string{"holdfast-doctor.>"}

// statistics is the subject on which nodes report what they count.
const statistics = "$SRV.STATS.holdfast"

// Operator returns a user that sees all locks, breaks them and confirms losses, and acquires none.
func (d Deployment) Operator(t Terms) User {
	of, role, all := d, "an operator of "+t.of(), t.Tenant == messages.AllTenants
	switch {
	case all:
		of.Prefix, role = d.Prefix.Tenant(t.Tenant), role+" of all tenants"
	case t.Tenant != "":
		of.Prefix, role = d.Prefix.Tenant(t.Tenant), role+" of the tenant "+t.Tenant
	}
	doctor := t.Doctor || t.Imported
	return User{Name: t.User, Role: role, Rights: []Right{
		of.info(), of.listing(),
		{For: "a look at a lock", Publish: of.on(t.Keys, operations(useLooks)...)},
		{For: "breaks", Publish: of.on(t.Keys, operations(useBreaks)...)},
		{For: "confirmations of losses", Publish: of.on(t.Keys, operations(useConfirmations)...)},
		{For: "statistics", Publish: []string{statistics}},
		d.info().when(all), d.listing().when(all),
		Right{For: "commits of all shards", Publish: d.on(doctorKeys, operations(useLooks)...)}.when(doctor),
		Right{For: "its own permissions", Publish: []string{"$SYS.REQ.USER.INFO"}}.when(doctor),
		t.asking(Right{For: "storage and replicas", Publish: append([]string{jetStream + "INFO", syncs},
			d.journals(streamInfo)...)}).when(doctor),
		Right{For: "replicas, through an import", Publish: d.importedJournals(streamInfo)}.when(t.Imported),
		t.answers(),
		of.events("changes of locks", t.Keys),
	}}
}

// Metrics returns a user that reads what nodes count, as nats micro stats does, and who they are.
func (d Deployment) Metrics(t Terms) User {
	return User{Name: t.User, Role: "a reader of statistics", Rights: []Right{
		d.info(),
		{For: "nats micro info, stats and ping of holdfast", Publish: []string{
			"$SRV.PING.holdfast", "$SRV.INFO.holdfast", statistics,
			"$SRV.PING.holdfast.*", "$SRV.INFO.holdfast.*", statistics + ".*",
		}},
		t.answers(),
	}}
}

// Watcher returns a user that reads the journals: holdfast watch, history and leader, and Watch of the Go client.
func (d Deployment) Watcher(t Terms) User {
	return d.reader(t, "a watcher of all locks", d.info())
}

// Backup returns a user that runs holdfast backup.
func (d Deployment) Backup(t Terms) User {
	t.Consumers = true
	return d.reader(t, "a reader of backups", Right{
		For: "which generation of shards is in use", Publish: d.register(streamInfo, messageGet),
	})
}

// Agent returns a user that runs holdfast fence-agent.
func (d Deployment) Agent(t Terms) User {
	return d.reader(t, "a fencing agent of "+t.of(), d.info(), d.listing(),
		Right{For: "confirmations of losses", Publish: d.on(t.Keys, operations(useConfirmations)...)})
}

// reader returns a user that reads the journals, beside its other rights.
func (d Deployment) reader(t Terms, role string, others ...Right) User {
	return User{Name: t.User, Role: role, Rights: slices.Concat(others, []Right{
		t.asking(Right{For: "the journals, record by record", Publish: d.journals(streamInfo, messageGet)}),
		Right{For: "the same through an import", Publish: d.importedJournals(streamInfo, messageGet)}.when(t.Imported),
		Right{For: "consumers of the journals", Publish: d.journals(consuming...), Warnings: []string{
			"a consumer may deliver to any subject of the account of the nodes; " +
				"without this right, journals are read record by record",
		}}.when(t.Consumers && !t.Imported),
		t.answers(),
	})}
}

// asking returns a right to ask JetStream, with what that gives in the account of the nodes. Through an import, answers
// stay in the account that imports.
func (t Terms) asking(r Right) Right {
	if !t.Imported {
		r.Warnings = []string{
			"in the account of the nodes it can damage the journals: JetStream sends its answers to any reply subject, " +
				"also into a bucket; give it an account of its own, see holdfast access deployment --layout accounts"}
	}
	return r
}
