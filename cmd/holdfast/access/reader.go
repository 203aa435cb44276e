package access

import "strings"

// What JetStream is asked, in front of the name of a stream.
const (
	jetStream      = "$JS.API."
	streamInfo     = jetStream + "STREAM.INFO."
	messageGet     = jetStream + "STREAM.MSG.GET."
	consumerCreate = jetStream + "CONSUMER.CREATE."
	consumerNext   = jetStream + "CONSUMER.MSG.NEXT."
	consumerDelete = jetStream + "CONSUMER.DELETE."
)

// The warnings of users that ask JetStream in the account of the nodes.
const (
	writesByReply = "in the account of the nodes it can damage the journals: JetStream sends its answers to any reply subject, " +
		"also into a bucket; give it an account of its own, see holdfast access deployment --layout accounts"
	deliversAnywhere = "a consumer may deliver to any subject of the account of the nodes; without this right, journals are read record by record"
)

// ReaderTerms say how a user reads journals.
type ReaderTerms struct {
	User, Inbox string
	// Consumers: it creates consumers, which are faster.
	Consumers bool
	// Imported: it is in an account that imports from that of the nodes, and has no JetStream.
	Imported bool
}

// Watcher returns a user that reads the journals: holdfast watch, history and leader, and Watch of the Go client.
func (d Deployment) Watcher(t ReaderTerms) User {
	u := User{Name: t.User, Role: "a watcher of all locks", Rights: []Right{d.info()}}
	d.reads(&u, t)
	u.Rights = append(u.Rights, answers(t.Inbox))
	return u
}

// Backup returns a user that runs holdfast backup.
func (d Deployment) Backup(name, inbox string) User {
	u := User{Name: name, Role: "a reader of backups"}
	d.reads(&u, ReaderTerms{Consumers: true})
	u.Rights = append(u.Rights, answers(inbox))
	return u
}

// Agent returns a user that runs holdfast fence-agent for keys.
func (d Deployment) Agent(t ReaderTerms, keys []string) User {
	u := User{Name: t.User, Role: "a fencing agent of " + strings.Join(keys, " and "), Rights: []Right{
		d.info(), d.listing(),
		{For: "confirmations of losses", Publish: d.on(keys, operations(useConfirmations)...)},
	}}
	d.reads(&u, t)
	u.Rights = append(u.Rights, answers(t.Inbox))
	return u
}

// reads adds the right to read the journals.
func (d Deployment) reads(u *User, t ReaderTerms) {
	u.Rights = append(u.Rights, d.reading())
	if t.Imported {
		u.Rights = append(u.Rights, Right{For: "the same through an import", Publish: d.importedJournals(streamInfo, messageGet)})
		return
	}
	u.Warnings = append(u.Warnings, writesByReply)
	if t.Consumers {
		u.Rights = append(u.Rights, Right{For: "consumers of the journals", Publish: d.consuming()})
		u.Warnings = append(u.Warnings, deliversAnywhere)
	}
}

func (d Deployment) reading() Right {
	return Right{For: "the journals, record by record", Publish: d.journals(streamInfo, messageGet)}
}

// importedJournals returns the subjects of requests about the journals in an account that imports them.
func (d Deployment) importedJournals(requests ...string) (all []string) {
	for _, subject := range d.journals(requests...) {
		all = append(all, d.importedJournal(subject))
	}
	return all
}

// importedJournal returns the subject under which a request to JetStream is imported.
func (d Deployment) importedJournal(subject string) string {
	return d.Prefix.Journals() + "." + strings.TrimPrefix(subject, jetStream)
}

// consuming returns the subjects with which consumers of the journals are created, asked and deleted.
func (d Deployment) consuming() (all []string) {
	for shard := range d.Shards {
		stream := streamOf(d.Prefix.Bucket(shard))
		all = append(all, consumerCreate+stream+".>", consumerNext+stream+".*", consumerDelete+stream+".*")
	}
	return all
}
