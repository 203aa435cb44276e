package access

import (
	"slices"
	"strings"

	"github.com/holdfast-io/holdfast/messages"
)

// What JetStream is asked, in front of the name of a stream.
const (
	jetStream      = "$JS.API."
	streamInfo     = jetStream + "STREAM.INFO."
	messageGet     = jetStream + "STREAM.MSG.GET."
	consumerCreate = jetStream + "CONSUMER.CREATE."
	consumerNext   = jetStream + "CONSUMER.MSG.NEXT."
	consumerDelete = jetStream + "CONSUMER.DELETE."
)

// syncs is the subject on which the servers of NATS say how they store, to the system account and to those that import it.
const syncs = "$SYS.REQ.SERVER.PING.JSZ"

// imported are the reply subjects that NATS makes for requests through a service import.
const imported = "_R_.>"

// Deployment is what the subjects depend on.
type Deployment struct {
	Prefix messages.Prefix
	// Shards is the number of journals.
	Shards uint32
}

// use is a group of operations that a role has together.
type use int

const (
	useLocks use = iota + 1
	useLooks
	useValues
	useSessions
	useBreaks
	useConfirmations
)

// uses has each operation of the contract.
var uses = map[messages.Operation]use{
	messages.OpAcquire: useLocks, messages.OpRelease: useLocks, messages.OpExtend: useLocks,
	messages.OpGet:  useLooks,
	messages.OpSet:  useValues,
	messages.OpKeep: useSessions, messages.OpEnd: useSessions,
	messages.OpBreak:   useBreaks,
	messages.OpConfirm: useConfirmations,
}

// operations returns those of some uses, in the order of the contract.
func operations(of ...use) (all []messages.Operation) {
	for _, op := range messages.Operations {
		if slices.Contains(of, uses[op]) {
			all = append(all, op)
		}
	}
	return all
}

// everything stands for all keys.
var everything = []string{">"}

// on returns the subjects of operations on keys, front and direct.
func (d Deployment) on(keys []string, ops ...messages.Operation) (all []string) {
	for _, op := range ops {
		for _, key := range keys {
			all = append(all, d.Prefix.Operation(op, key), d.Prefix.DirectOfAll(op, key))
		}
	}
	return all
}

// records returns the subjects of the records of all journals.
func (d Deployment) records() (all []string) {
	for shard := range d.Shards {
		all = append(all, "$KV."+d.Prefix.Bucket(shard)+".>")
	}
	return all
}

// journals returns the subjects of requests to JetStream about the stream of each shard.
func (d Deployment) journals(requests ...string) (all []string) {
	for shard := range d.Shards {
		for _, request := range requests {
			all = append(all, request+streamOf(d.Prefix.Bucket(shard)))
		}
	}
	return all
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

// streamOf returns the stream of a bucket.
func streamOf(bucket string) string { return "KV_" + bucket }
