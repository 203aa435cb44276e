package access

import (
	"fmt"
	"slices"
	"strings"

	"github.com/holdfast-io/holdfast/messages"
)

// What JetStream is asked, and the subjects of records. %s is the bucket of a shard.
const (
	jetStream  = "$JS.API."
	streamInfo = jetStream + "STREAM.INFO.KV_%s"
	messageGet = jetStream + "STREAM.MSG.GET.KV_%s"
	records    = "$KV.%s.>"
)

// consuming are the subjects with which consumers of the journals are created, asked and deleted.
var consuming = []string{
	jetStream + "CONSUMER.CREATE.KV_%s.>", jetStream + "CONSUMER.MSG.NEXT.KV_%s.*",
	jetStream + "CONSUMER.DELETE.KV_%s.*",
}

// syncs is the subject on which the servers of NATS say how they store, to the system account and to those that import
// it.
const syncs = "$SYS.REQ.SERVER.PING.JSZ"

// imported are the reply subjects that NATS makes for requests through a service import.
const imported = "_R_.>"

// Deployment is what the subjects depend on.
type Deployment struct {
	Prefix messages.Prefix
	// Shards is the number of journals, and Others are generations of shards beside the first one that has so many.
	Shards uint32
	Others []messages.Shards
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

// journals returns the subjects for the journal of each shard.
func (d Deployment) journals(subjects ...string) (all []string) {
	for _, generation := range append([]messages.Shards{{Count: d.Shards}}, d.Others...) {
		for shard := range generation.Count {
			for _, subject := range subjects {
				all = append(all, fmt.Sprintf(subject, d.Prefix.Bucket(generation.Shard(shard))))
			}
		}
	}
	return all
}

// register returns the subjects for the register of generations.
func (d Deployment) register(subjects ...string) (all []string) {
	for _, subject := range subjects {
		all = append(all, fmt.Sprintf(subject, d.Prefix.Register()))
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
