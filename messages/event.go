package messages

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// HeaderEventID is the header with the id of an event, in the form of [EventID.String]. JetStream
// deduplicates messages by it.
const HeaderEventID = "Nats-Msg-Id"

// EventID identifies an event within its deployment and orders the events of one shard.
type EventID struct {
	Shard    uint32
	Position uint64 // of the commit in the shard's bucket
	Index    uint32 // of the change in the commit
}

// ParseEventID parses the output of [EventID.String]. Any other text is an [InvalidError].
func ParseEventID(s string) (EventID, error) {
	var id EventID
	shard, below, _ := strings.Cut(s, ".")
	position, index, _ := strings.Cut(below, ".")
	numbers := [3]uint64{}
	for i, part := range []string{shard, position, index} {
		n, err := strconv.ParseUint(part, 10, [3]int{32, 64, 32}[i])
		if err != nil {
			return id, Invalid("event id", "<shard>.<position>.<index>", quote(s))
		}
		numbers[i] = n
	}
	id = EventID{Shard: uint32(numbers[0]), Position: numbers[1], Index: uint32(numbers[2])}
	if id.String() != s {
		return EventID{}, Invalid("event id", "numbers without signs and leading zeros", quote(s))
	}
	return id, nil
}

// String returns <shard>.<position>.<index>.
func (i EventID) String() string {
	return string(i.append(make([]byte, 0, 24)))
}

// Before reports whether the event precedes that one. Both have to be of the same shard, or of the same resource.
func (i EventID) Before(that EventID) bool {
	return i.Position < that.Position || i.Position == that.Position && i.Index < that.Index
}

func (i EventID) append(b []byte) []byte {
	b = strconv.AppendUint(b, uint64(i.Shard), 10)
	b = append(b, '.')
	b = strconv.AppendUint(b, i.Position, 10)
	b = append(b, '.')
	return strconv.AppendUint(b, uint64(i.Index), 10)
}

// ID returns the event's id.
func (x *Event) ID() EventID {
	return EventID{Shard: x.GetShard(), Position: x.GetPosition(), Index: x.GetIndex()}
}

// SetHeader sets the headers of a published event. It reuses the values of h, which must not be in use
// for another event any more.
func (x *Event) SetHeader(h map[string][]string) {
	h[HeaderEvent] = append(h[HeaderEvent][:0], x.GetKind().String())
	h[HeaderToken] = append(h[HeaderToken][:0], Token(x.GetLease().GetToken()).String())
	h[HeaderEventID] = append(h[HeaderEventID][:0], x.ID().String())
}

// Subject returns the subject of the event: of a tenant's resource it is below the prefix of the tenant.
func (x *Event) Subject(p Prefix) (string, error) {
	subject, err := p.eventOf(x.GetLease().GetTenant(), x.GetLease().GetResource())
	if err != nil {
		return "", fmt.Errorf("event %s: %w", x.ID(), err)
	}
	return subject, nil
}

// EventOf returns the subject of the events of a resource, whose name is qualified.
func (p Prefix) EventOf(qualified string) (string, error) { return p.eventOf(Unqualify(qualified)) }

func (p Prefix) eventOf(tenant, resource string) (string, error) {
	key, err := EncodeKey(resource)
	below := p
	if tenant != "" {
		below = p.Tenant(tenant) // mutant: PlainEventsOfTenants
	}
	return below.Event(key), err
}

// AppendJSON appends the event in the form in which [Encode] writes JSON, at a fraction of the cost, and without the
// tenant, which is in the subject. It replaces invalid UTF-8, which no event from a bucket contains.
func (x *Event) AppendJSON(b []byte) []byte {
	o := object{append(b, '{')}
	o.name("kind", x.GetKind().String(), x.GetKind() != 0)
	if l := x.GetLease(); l != nil {
		o.key("lease")
		o.b = l.appendJSON(o.b)
	}
	o.number("shard", uint64(x.GetShard()))
	o.long("position", x.GetPosition())
	o.number("index", uint64(x.GetIndex()))
	o.time("at_ms", x.GetAtMs())
	o.text("reason", x.GetReason())
	o.truth("held_back", x.GetHeldBack())
	o.number("resting_ms", uint64(x.GetRestingMs()))
	return append(o.b, '}')
}

func (x *Lease) appendJSON(b []byte) []byte {
	o := object{append(b, '{')}
	o.text("resource", x.GetResource())
	o.text("owner", x.GetOwner())
	o.long("token", x.GetToken())
	o.text("fence", x.GetFence())
	o.number("ttl_ms", uint64(x.GetTtlMs()))
	o.number("remaining_ms", uint64(x.GetRemainingMs()))
	o.time("acquired_at_ms", x.GetAcquiredAtMs())
	o.name("durability", x.GetDurability().String(), x.GetDurability() != 0)
	o.texts("metadata", x.GetMetadata())
	o.number("limit", uint64(x.GetLimit()))
	o.numbers("slots", x.GetSlots())
	o.text("session", x.GetSession())
	o.text("identity", x.GetIdentity())
	o.number("tokens", uint64(x.GetTokens()))
	return append(o.b, '}')
}

// object is a JSON object under construction in the proto3 mapping: a field with its zero value is left
// out, and a 64-bit number is a string.
type object struct{ b []byte }

func (o *object) key(field string) {
	if o.b[len(o.b)-1] != '{' {
		o.b = append(o.b, ',')
	}
	o.b = append(append(append(o.b, '"'), field...), '"', ':')
}

func (o *object) number(field string, n uint64) {
	if n != 0 {
		o.key(field)
		o.b = strconv.AppendUint(o.b, n, 10)
	}
}

func (o *object) numbers(field string, all []uint32) {
	if len(all) == 0 {
		return
	}
	o.key(field)
	for i, n := range all {
		o.b = strconv.AppendUint(append(o.b, "[,"[min(i, 1)]), uint64(n), 10)
	}
	o.b = append(o.b, ']')
}

func (o *object) truth(field string, is bool) {
	if is {
		o.key(field)
		o.b = append(o.b, "true"...)
	}
}

func (o *object) long(field string, n uint64) {
	if n != 0 {
		o.key(field)
		o.b = append(strconv.AppendUint(append(o.b, '"'), n, 10), '"')
	}
}

func (o *object) time(field string, unixMillis int64) {
	if unixMillis != 0 {
		o.key(field)
		o.b = append(strconv.AppendInt(append(o.b, '"'), unixMillis, 10), '"')
	}
}

// name writes an enum, unless it has its zero value.
func (o *object) name(field, name string, is bool) {
	if is {
		o.text(field, name)
	}
}

func (o *object) text(field, s string) {
	if s != "" {
		o.key(field)
		o.b = appendText(o.b, s)
	}
}

func (o *object) texts(field string, m map[string]string) {
	if len(m) == 0 {
		return
	}
	o.key(field)
	for i, k := range slices.Sorted(maps.Keys(m)) {
		o.b = append(o.b, "{,"[min(i, 1)])
		o.b = append(appendText(o.b, k), ':')
		o.b = appendText(o.b, m[k])
	}
	o.b = append(o.b, '}')
}

// appendText writes a JSON string with the fewest escapes.
func appendText(b []byte, s string) []byte {
	b = append(b, '"')
	for _, r := range s {
		switch {
		case r == '"' || r == '\\':
			b = append(b, '\\', byte(r))
		case r >= ' ':
			b = utf8.AppendRune(b, r)
		case strings.ContainsRune("\b\f\n\r\t", r):
			b = append(b, '\\', "btn?fr"[r-'\b'])
		default:
			b = fmt.Appendf(b, "\\u%04x", r)
		}
	}
	return append(b, '"')
}
