package access

// Node returns the user of the nodes. inbox is what the inboxes of clients and of the nodes begin with.
func (d Deployment) Node(name, inbox string) User {
	all := []string{string(d.Prefix) + ".>"}
	events := d.Prefix.EventStream()
	return User{
		Name: name, Role: "the nodes",
		Rights: []Right{
			{For: "requests, messages between nodes, events", Publish: all, Subscribe: all},
			{For: "answers, also through service imports", Publish: []string{inbox + ".>", imported}, Subscribe: []string{inbox + ".>"}},
			{For: "information and statistics", Subscribe: []string{"$SRV.*", "$SRV.*.holdfast", "$SRV.*.holdfast.*"}},
			{For: "the journals", Publish: append([]string{jetStream + "STREAM.NAMES"}, d.journals(
				jetStream+"STREAM.CREATE.", jetStream+"STREAM.UPDATE.", streamInfo, jetStream+"STREAM.PURGE.", messageGet,
				jetStream+"STREAM.LEADER.STEPDOWN.",
			)...)},
			{For: "whether NATS syncs each write, if the account imports that", Publish: []string{syncs}},
			{For: "records", Publish: append(d.records(), d.consuming()...)},
			{For: "retained events", Publish: []string{
				jetStream + "STREAM.CREATE." + events, jetStream + "STREAM.UPDATE." + events, streamInfo + events, messageGet + events,
			}},
		},
		Warnings: []string{"give this login to nodes only: it can do everything in the deployment"},
	}
}

// syncs is the subject on which the servers of NATS say how they store, to the system account and to those that import it.
const syncs = "$SYS.REQ.SERVER.PING.JSZ"

// imported are the reply subjects that NATS makes for requests through a service import.
const imported = "_R_.>"

// records returns the subjects of the records of all journals.
func (d Deployment) records() (all []string) {
	for shard := range d.Shards {
		all = append(all, "$KV."+d.Prefix.Bucket(shard)+".>")
	}
	return all
}
