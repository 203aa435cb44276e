package messages

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"
)

const (
	// DefaultPrefix is the prefix of a deployment unless it configures another one.
	DefaultPrefix Prefix = "holdfast"
	// MaxPrefixBytes fits that of a tenant, and leaves room for the longest key in the 4 096 bytes of a NATS protocol
	// line.
	MaxPrefixBytes = 192
	// MaxReplyBytes is several times the length of an inbox. Longer reply subjects are refused, because
	// they would fill the memory of waiting requests.
	MaxReplyBytes = 255
)

// shardLevel begins the direct subjects, below the prefix.
const shardLevel = "shard"

// nodeLevel begins the subjects between nodes, below the prefix.
const nodeLevel = "node"

// tenantLevel begins the subjects of tenants, below the prefix.
const tenantLevel = "tenant"

// Operation is an operation on a resource, in its form in a subject.
type Operation string

// The operations on a resource. Listing and discovery concern no single resource and have subjects of
// their own.
const (
	OpAcquire Operation = "acquire"
	OpRelease Operation = "release"
	OpExtend  Operation = "extend"
	OpGet     Operation = "get"
	OpBreak   Operation = "break"
	OpConfirm Operation = "confirm"
	OpSet     Operation = "set"
)

// The operations on a session, which stands in the place of the key.
const (
	OpKeep Operation = "keep"
	OpEnd  Operation = "end"
)

// OpBatch stands in the place of an operation in the subject of a batch. It has no key.
const OpBatch Operation = "batch"

// Operations lists all operations in the order of the contract. It must not be modified.
var Operations = []Operation{OpAcquire, OpRelease, OpExtend, OpGet, OpBreak, OpConfirm, OpKeep, OpEnd, OpSet}

// OfSession reports whether the operation concerns a session and not a resource.
func (o Operation) OfSession() bool { return o == OpKeep || o == OpEnd }

// Address is the parsed subject of a request.
type Address struct {
	// Tenant is the account in the subject of a tenant's request; empty: there is none.
	Tenant    string
	Operation Operation
	Key       string // not decoded: see [DecodeKey]; empty only of a batch
	Direct    bool   // the subject names the shard
	Shard     Shard  // zero unless Direct
}

// Prefix begins every subject of a deployment. Only a Prefix from [ParsePrefix] makes valid subjects.
type Prefix string

// ParsePrefix returns s as a prefix. It returns an [InvalidError] unless s is 1 to [MaxPrefixBytes] bytes:
// levels of A-Z a-z 0-9 _ - joined by dots. A prefix does not begin with "_" or "$", because NATS uses
// these for inboxes and for itself.
func ParsePrefix(s string) (Prefix, error) {
	switch {
	case s == "" || len(s) > MaxPrefixBytes:
		return "", Invalid("prefix", sizeRule(1, MaxPrefixBytes), byteCount(s))
	case s[0] == '_' || s[0] == '$':
		return "", Invalid("prefix", "not beginning with _ or $", quote(s))
	}
	for level := range strings.SplitSeq(s, ".") {
		if level == "" || strings.ContainsFunc(level, notInPrefix) {
			return "", Invalid("prefix", "levels of A-Z a-z 0-9 _ - joined by dots", quote(s))
		}
	}
	return Prefix(s), nil
}

// Operation returns the front subject, which any node serves: holdfast.acquire.<key>. The key may be ">",
// to subscribe.
func (p Prefix) Operation(op Operation, key string) string {
	return string(p) + "." + string(op) + "." + key
}

// Direct returns the direct subject, which the owner of the shard serves:
// holdfast.shard.<n>.acquire.<key>, holdfast.shard.<g>-<n>.acquire.<key> of a later generation. The key may be ">", to subscribe.
func (p Prefix) Direct(shard Shard, op Operation, key string) string {
	return p.shard(shard) + string(op) + "." + key
}

// DirectOfAll returns the direct subjects of all shards, for permissions: holdfast.shard.*.acquire.<key>.
func (p Prefix) DirectOfAll(op Operation, key string) string {
	return string(p) + "." + shardLevel + ".*." + string(op) + "." + key
}

// BatchOfAll returns the subjects of batches to all shards, for permissions: holdfast.shard.*.batch.
func (p Prefix) BatchOfAll() string {
	return string(p) + "." + shardLevel + ".*." + string(OpBatch)
}

// Batch returns the subject of batches to a shard: holdfast.shard.<n>.batch.
func (p Prefix) Batch(shard Shard) string {
	return p.shard(shard) + string(OpBatch)
}

// Shard returns the wildcard of all direct subjects of a shard: holdfast.shard.<n>.>.
func (p Prefix) Shard(shard Shard) string {
	return p.shard(shard) + ">"
}

// shard returns what the direct subjects of a shard begin with.
func (p Prefix) shard(shard Shard) string {
	return string(p) + "." + shardLevel + "." + shard.level() + "."
}

// Tenant returns the prefix of a tenant's subjects: holdfast.tenant.<account>. Below it are the same subjects as below
// the prefix of the deployment, but those of nodes. NATS lets an account use only the prefix with its own name: the
// export has to say at which level the account stands (account_token_position). The account may be "*", to subscribe.
func (p Prefix) Tenant(account string) Prefix {
	return Prefix(string(p) + "." + tenantLevel + "." + account)
}

// List returns the subject of listing: holdfast.list.
func (p Prefix) List() string {
	return string(p) + ".list"
}

// Info returns the subject of discovery: holdfast.info.
func (p Prefix) Info() string {
	return string(p) + ".info"
}

// Journals returns what the subjects of requests to JetStream about the journals begin with in an account that imports
// them: holdfast.journal. In the account of the nodes they begin with $JS.API.
func (p Prefix) Journals() string {
	return string(p) + ".journal"
}

// Event returns the subject of the events of the key's resource: holdfast.event.<key>. The key may have
// wildcards, to subscribe.
func (p Prefix) Event(key string) string {
	return string(p) + ".event." + key
}

// StoredTenant returns what precedes the key of a tenant's resource in the subjects of stored events. No key begins
// with "~".
func StoredTenant(account string) string { return "~tenant." + account + "." }

// StoredEvent returns the subject on which a node publishes an event to the stream that retains it:
// holdfast.node.~event.<key>. Only nodes may publish there, so clients cannot add to the stream. The stream
// stores the event under Event(key). The key may be ">", to subscribe.
func (p Prefix) StoredEvent(key string) string {
	return string(p) + "." + nodeLevel + ".~event." + key
}

// Announcement returns the subject of a node's announcements: holdfast.node.~announce.<name>. The name is
// a key, or ">" to subscribe to all nodes. No key begins with "~", so a permission such as
// holdfast.*.orders.> does not cover it.
func (p Prefix) Announcement(name string) string {
	return string(p) + "." + nodeLevel + ".~announce." + name
}

// Resharding returns the subject on which the coordinator of a change of the number of shards reaches all nodes.
func (p Prefix) Resharding() string { return string(p) + "." + nodeLevel + ".~reshard" }

// NodeSubject returns a subject on which other nodes forward requests to one process:
// holdfast.node.~door.<incarnation>.acquire.<key>. Below may be ">", to subscribe.
func (p Prefix) NodeSubject(incarnation uint64, below string) string {
	return string(p) + "." + nodeLevel + ".~door." + strconv.FormatUint(incarnation, 16) + "." + below
}

// Nodes returns the wildcard of all subjects between nodes: holdfast.node.>. Only nodes should have the
// permission to publish and subscribe there.
func (p Prefix) Nodes() string { return string(p) + "." + nodeLevel + ".>" }

// Bucket returns the name of the shard's KV bucket: HOLDFAST_3, and HOLDFAST_2_3 in generation 2. Bucket names have no
// dots, so two prefixes that differ only in case, or in "." against "_", share buckets. One account cannot have both.
func (p Prefix) Bucket(shard Shard) string {
	return p.name() + "_" + shard.bucket()
}

// Register returns the name of the KV bucket that says which generation of shards is in use: HOLDFAST_SHARDS.
func (p Prefix) Register() string { return p.name() + "_SHARDS" }

// EventStream returns the name of the stream that retains events: HOLDFAST_EVENTS.
func (p Prefix) EventStream() string {
	return p.name() + "_EVENTS"
}

// name is the prefix in the form of a JetStream name.
func (p Prefix) name() string {
	return strings.Map(func(r rune) rune {
		if notInPrefix(r) {
			return '_'
		}
		return unicode.ToUpper(r)
	}, string(p))
}

// Parse parses the subject of a request, front or direct, of a tenant or not. It returns an [InvalidError] if the
// subject is not below the prefix, names no operation or no key, or if the shard is not a number. A direct subject may
// also be that of a batch. It does not decode the key, and does not check that the shard exists.
func (p Prefix) Parse(subject string) (Address, error) {
	rest, ok := p.cut(subject)
	if !ok {
		return Address{}, Invalid("subject", "below "+string(p), quote(subject))
	}
	var a Address
	if of, ok := strings.CutPrefix(rest, tenantLevel+"."); ok {
		a.Tenant, rest, _ = strings.Cut(of, ".")
		if err := CheckTenant(a.Tenant); err != nil {
			return Address{}, err
		}
	}
	if direct, ok := strings.CutPrefix(rest, shardLevel+"."); ok {
		number, below, _ := strings.Cut(direct, ".")
		shard, err := parseShard(number)
		if err != nil {
			return Address{}, err
		}
		a.Direct, a.Shard, rest = true, shard, below
	}
	op, key, _ := strings.Cut(rest, ".")
	a.Operation, a.Key = Operation(op), key
	if err := a.check(subject); err != nil {
		return Address{}, err
	}
	return a, nil
}

// CheckReply returns an [InvalidError] unless subject can be an inbox. The service may publish where its
// clients may not, so a reply to a subject below "$" or below the service's own prefix would lend its
// permissions to the client.
func (p Prefix) CheckReply(subject string) error {
	const field = "reply subject"
	switch {
	case subject == "" || len(subject) > MaxReplyBytes:
		return Invalid(field, sizeRule(1, MaxReplyBytes), byteCount(subject))
	case subject[0] == '$': // mutant: AnswerIntoTheJournal
		return Invalid(field, "an inbox, not beginning with $", quote(subject))
	case p.covers(subject): // mutant: AnswerAnywhere
		return Invalid(field, "an inbox, not below "+string(p), quote(subject))
	case isSimple(subject):
		return nil
	case !isText(subject) || strings.ContainsFunc(subject, unicode.IsSpace):
		return Invalid(field, "without spaces and control characters", quote(subject))
	}
	for level := range strings.SplitSeq(subject, ".") {
		if level == "" || level == "*" || level == ">" {
			return Invalid(field, "without wildcards and empty levels", quote(subject))
		}
	}
	return nil
}

// IsImported reports whether a reply subject is one of those that NATS makes for a request through a service import.
// NATS passes one answer on, and the service cannot reach other subjects of the client's account.
func IsImported(reply string) bool { return strings.HasPrefix(reply, "_R_.") }

// isSimple reports whether a subject is printable ASCII without wildcards and empty levels, as nearly all are.
func isSimple(subject string) bool {
	last := byte('.')
	for i := range len(subject) {
		c := subject[i]
		if c <= ' ' || c > '~' || c == '*' || c == '>' || c == '.' && last == '.' {
			return false
		}
		last = c
	}
	return last != '.'
}

func (a Address) check(subject string) error {
	switch {
	case a.Operation == OpBatch && a.Direct && a.Key == "":
		return nil
	case !slices.Contains(Operations, a.Operation):
		return Invalid("operation", fmt.Sprintf("one of %v", Operations), quote(string(a.Operation)))
	case a.Key == "":
		return Invalid("subject", "the operation followed by a key", quote(subject))
	}
	return nil
}

// cut returns what stands below the prefix.
func (p Prefix) cut(subject string) (below string, ok bool) {
	rest, ok := strings.CutPrefix(subject, string(p))
	if !ok {
		return "", false
	}
	return strings.CutPrefix(rest, ".")
}

// covers reports whether subject is the prefix or below it, in whole levels: holdfast does not cover
// holdfastx.y.
func (p Prefix) covers(subject string) bool {
	_, below := p.cut(subject)
	return below || subject == string(p)
}

// notInPrefix reports whether r may not stand in a level of a prefix.
func notInPrefix(r rune) bool {
	return r >= 0x80 || r == '/' || !plain[r]
}
