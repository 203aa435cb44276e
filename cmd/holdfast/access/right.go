package access

import (
	"slices"
	"strings"

	"github.com/holdfast-io/holdfast/messages"
)

// Right is what one use of a deployment takes.
type Right struct {
	// For is what it is for, as a comment of one line.
	For string
	// Publish and Subscribe are subjects of NATS, with wildcards.
	Publish, Subscribe []string
}

// User is a user of NATS with the rights of a role.
type User struct {
	// Name is that of the login, and part of the inbox prefix.
	Name string
	// Role says what the user is, as in "a client of orders.>".
	Role   string
	Rights []Right
	// Warnings say what the rights give beyond their purpose.
	Warnings []string
	// NKey is its public key: it logs in with that and not with a password.
	NKey string
}

// Publish returns all subjects on which the user may publish.
func (u User) Publish() (all []string) {
	for _, r := range u.Rights {
		all = append(all, r.Publish...)
	}
	return all
}

// Subscribe returns all subjects to which the user may subscribe.
func (u User) Subscribe() (all []string) {
	for _, r := range u.Rights {
		all = append(all, r.Subscribe...)
	}
	return all
}

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

// on returns the subjects of operations on keys, front and direct.
func (d Deployment) on(keys []string, ops ...messages.Operation) (all []string) {
	for _, op := range ops {
		for _, key := range keys {
			all = append(all, d.Prefix.Operation(op, key), d.Prefix.DirectOfAll(op, key))
		}
	}
	return all
}

// everything stands for all keys.
var everything = []string{">"}

func (d Deployment) info() Right {
	return Right{For: "discovery", Publish: []string{d.Prefix.Info()}}
}

// answers is the right to what is sent to the inboxes of a user. Others cannot read them.
func answers(inbox string) Right {
	return Right{For: "answers; the client needs the inbox prefix " + inbox, Subscribe: []string{inbox + ".>"}}
}

// hear adds the right to hear of the changes of keys.
func (d Deployment) hear(u *User, purpose string, keys []string) {
	r := Right{For: purpose}
	for _, key := range keys {
		r.Subscribe = append(r.Subscribe, d.Prefix.Event(key))
		if strings.HasSuffix("."+key, ".*") {
			u.Warnings = append(u.Warnings, "it can also hear of deeper levels than "+key+": NATS lets > pass for *")
		}
	}
	u.Rights = append(u.Rights, r)
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

// streamOf returns the stream of a bucket.
func streamOf(bucket string) string { return "KV_" + bucket }
