package messages

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"
)

const (
	// DefaultPrefix begins the subjects of a deployment that chose no other one.
	DefaultPrefix Prefix = "holdfast"
	// MaxPrefixBytes leaves the longest key its place in a NATS protocol line of 4 096 bytes.
	MaxPrefixBytes = 64
	// MaxReplyBytes is several times the length of any client's inbox; longer is an attempt to fill
	// the queue of waiting requests.
	MaxReplyBytes = 255
)

// shardLevel begins the direct door, below the prefix.
const shardLevel = "shard"

// nodeLevel begins what nodes say to one another, below the prefix.
const nodeLevel = "node"

// Operation is what a request wants done to a resource, as it stands in the subject.
type Operation string

// The operations on a resource. Listing and discovery are not about one, and have their own subjects.
const (
	OpAcquire Operation = "acquire"
	OpRelease Operation = "release"
	OpExtend  Operation = "extend"
	OpGet     Operation = "get"
	OpBreak   Operation = "break"
)

// Operations are all of them, in the order of the contract. It is not to be changed.
var Operations = []Operation{OpAcquire, OpRelease, OpExtend, OpGet, OpBreak}

// Address is what the subject of a request says.
type Address struct {
	Operation Operation
	Key       string // not empty; whether it is a key, [DecodeKey] tells
	Direct    bool   // came by the direct door, which names the shard
	Shard     uint32 // 0 unless Direct
}

// Prefix begins every subject of a deployment. Only one from [ParsePrefix] makes legal subjects.
type Prefix string

// ParsePrefix returns s as a prefix. It is an [InvalidError] unless s is 1 to [MaxPrefixBytes] bytes:
// levels of A-Z a-z 0-9 _ - joined by dots. It may not begin with "_" or "$": inboxes and NATS itself
// live there.
func ParsePrefix(s string) (Prefix, error) {
	switch {
	case s == "" || len(s) > MaxPrefixBytes:
		return "", invalid("prefix", sizeRule(1, MaxPrefixBytes), byteCount(s))
	case s[0] == '_' || s[0] == '$':
		return "", invalid("prefix", "not beginning with _ or $", quote(s))
	}
	for level := range strings.SplitSeq(s, ".") {
		if level == "" || strings.ContainsFunc(level, notInPrefix) {
			return "", invalid("prefix", "levels of A-Z a-z 0-9 _ - joined by dots", quote(s))
		}
	}
	return Prefix(s), nil
}

// Operation returns the front door's subject: holdfast.acquire.<key>. With ">" for the key it is the
// one to subscribe to.
func (p Prefix) Operation(op Operation, key string) string {
	return string(p) + "." + string(op) + "." + key
}

// Direct returns the direct door's subject: holdfast.shard.<n>.acquire.<key>. With ">" for the key it
// is the one to subscribe to.
func (p Prefix) Direct(shard uint32, op Operation, key string) string {
	return string(p) + "." + shardLevel + "." + formatShard(shard) + "." + string(op) + "." + key
}

// Shard returns what the owner of a shard subscribes to: everything at its direct door.
func (p Prefix) Shard(shard uint32) string {
	return string(p) + "." + shardLevel + "." + formatShard(shard) + ".>"
}

// List returns the subject of listing: holdfast.list.
func (p Prefix) List() string {
	return string(p) + ".list"
}

// Info returns the subject of discovery: holdfast.info.
func (p Prefix) Info() string {
	return string(p) + ".info"
}

// Event returns the subject on which changes of the key's resource are published:
// holdfast.event.<key>. The key may have wildcards, to subscribe.
func (p Prefix) Event(key string) string {
	return string(p) + ".event." + key
}

// StoredEvent returns the subject on which a node hands an event of the key's resource to the stream that retains
// it: holdfast.node.~event.<key>. Only nodes may publish there, so what clients publish does not enter the stream.
// The stream stores it under Event(key). The key may be ">", for all.
func (p Prefix) StoredEvent(key string) string {
	return string(p) + "." + nodeLevel + ".~event." + key
}

// Announcement returns the subject on which a node speaks of itself: holdfast.node.~announce.<name>. The
// name is a key, or ">" to hear all nodes. No key begins with "~", so that whoever may publish
// holdfast.*.orders.> is no node.
func (p Prefix) Announcement(name string) string {
	return string(p) + "." + nodeLevel + ".~announce." + name
}

// NodeDoor returns a subject at the door that only other nodes use, to this process alone:
// holdfast.node.~door.<incarnation>.acquire.<key>. With ">" it is the one to subscribe to.
func (p Prefix) NodeDoor(incarnation uint64, below string) string {
	return string(p) + "." + nodeLevel + ".~door." + strconv.FormatUint(incarnation, 16) + "." + below
}

// Nodes returns what a node must be allowed to publish and to subscribe to: holdfast.node.>. Nobody else
// should be.
func (p Prefix) Nodes() string { return string(p) + "." + nodeLevel + ".>" }

// Bucket returns the name of the shard's KV bucket: HOLDFAST_3. A bucket's name has no dots, so two
// prefixes that differ only in case or in "." against "_" would share buckets: one account cannot
// have both.
func (p Prefix) Bucket(shard uint32) string {
	return p.name() + "_" + formatShard(shard)
}

// EventStream returns the name of the stream that retains events: HOLDFAST_EVENTS.
func (p Prefix) EventStream() string {
	return p.name() + "_EVENTS"
}

// name is the prefix as JetStream takes it for a name.
func (p Prefix) name() string {
	return strings.Map(func(r rune) rune {
		if notInPrefix(r) {
			return '_'
		}
		return unicode.ToUpper(r)
	}, string(p))
}

// Parse takes the subject of a request apart, at either door. It is an [InvalidError] if the subject
// is not below the prefix, names no operation or no key, or if the shard is not a number. The key is
// not decoded, and the shard need not exist.
func (p Prefix) Parse(subject string) (Address, error) {
	rest, ok := p.cut(subject)
	if !ok {
		return Address{}, invalid("subject", "below "+string(p), quote(subject))
	}
	var a Address
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

// CheckReply tells whether an answer may be sent to subject. It is an [InvalidError] unless subject
// could be an inbox: the service may publish where its clients may not, so a reply subject below "$"
// or below the service's own prefix would borrow its rights.
func (p Prefix) CheckReply(subject string) error {
	const field = "reply subject"
	switch {
	case subject == "" || len(subject) > MaxReplyBytes:
		return invalid(field, sizeRule(1, MaxReplyBytes), byteCount(subject))
	case subject[0] == '$':
		return invalid(field, "an inbox, not beginning with $", quote(subject))
	case p.covers(subject):
		return invalid(field, "an inbox, not below "+string(p), quote(subject))
	case !isText(subject) || strings.ContainsFunc(subject, unicode.IsSpace):
		return invalid(field, "without spaces and control characters", quote(subject))
	}
	for level := range strings.SplitSeq(subject, ".") {
		if level == "" || level == "*" || level == ">" {
			return invalid(field, "without wildcards and empty levels", quote(subject))
		}
	}
	return nil
}

func (a Address) check(subject string) error {
	switch {
	case !slices.Contains(Operations, a.Operation):
		return invalid("operation", fmt.Sprintf("one of %v", Operations), quote(string(a.Operation)))
	case a.Key == "":
		return invalid("subject", "the operation followed by a key", quote(subject))
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

// covers reports whether subject is the prefix or below it. It goes by whole levels: holdfastx.y is
// somebody else's.
func (p Prefix) covers(subject string) bool {
	_, below := p.cut(subject)
	return below || subject == string(p)
}

// parseShard reads the one way in which a shard is written: no sign, no leading zeros.
func parseShard(s string) (uint32, error) {
	n, err := strconv.ParseUint(s, 10, 32)
	if err != nil || formatShard(uint32(n)) != s {
		return 0, invalid("shard", "a number", quote(s))
	}
	return uint32(n), nil
}

func formatShard(shard uint32) string {
	return strconv.FormatUint(uint64(shard), 10)
}

// notInPrefix reports whether r may not stand in a level of a prefix.
func notInPrefix(r rune) bool {
	return r >= 0x80 || r == '/' || !plain[r]
}
