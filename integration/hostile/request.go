package hostile

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/holdfast-io/holdfast/messages"
)

// Attackers use so many resources and sessions, so that what they leave behind is bounded.
const (
	resources = 60
	sessions  = 40
)

// shards is how many the attacked node has.
const shards = 4

// request is one as a client of the contract would send it.
type request struct {
	subject  string
	payload  []byte
	encoding messages.Encoding
}

// key returns that of a resource of the attackers.
func (d dice) key() string {
	return fmt.Sprint(own, one(d, "a", "b.c", "=C3=A9", "x/y"), ".", d.IntN(resources))
}

func (d dice) session() string { return fmt.Sprintf("hostile-session-%04d", d.IntN(sessions)) }

// request returns a valid request, or one with a value at or above a bound.
func (d dice) request() request {
	r := request{encoding: one(d, messages.Protobuf, messages.JSON)}
	prefix := messages.DefaultPrefix
	switch d.IntN(20) {
	case 0:
		r.subject = prefix.Info()
		return r
	case 1:
		r.subject = prefix.List()
		r.payload = encode(r.encoding, &messages.ListRequest{
			Pattern: one(d, ">", "hostile.>", "hostile.*", "", "load.>"), Limit: d.number(), Waiters: d.chance(50),
			HeldBack: d.chance(30), By: one(d, 0, 0, messages.Ranking(d.number())),
			After: one(d, "", "hostile.a.1", "hostile.a.1#7", d.text(600)),
		})
		return r
	}
	op := one(d, messages.Operations...)
	if d.chance(40) {
		op = messages.OpAcquire
	}
	key := d.key()
	if op.OfSession() {
		key = d.session()
	}
	shard := messages.ShardOf(key, shards)
	if d.chance(5) {
		shard = d.number()
	}
	r.subject = prefix.Operation(op, key)
	if d.chance(60) {
		r.subject = prefix.Direct(messages.Shard{Number: shard}, op, key)
	}
	r.payload = encode(r.encoding, d.body(op))
	return r
}

// number is small, or at a bound.
func (d dice) number() uint32 {
	if d.chance(70) {
		return one[uint32](d, 0, 1, 2)
	}
	return one(d, 0, 1, 2, uint32(d.IntN(shards)), 99, 100, 1000, 1001, messages.MaxWaitMillis, messages.MaxTTLMillis+1,
		1<<31, 1<<32-1)
}

// order is the number of an extend or a set, more often than by chance a late one.
func (d dice) order() uint64 {
	return one(d, 0, 0, 1, 2, uint64(d.number()), messages.MaxOrder, messages.MaxOrder+1)
}

// ttl is short, so that leases end during the attack.
func (d dice) ttl() uint32 {
	if d.chance(90) {
		return one[uint32](d, 100, 200, 500, 1000, 2000)
	}
	return one(d, 99, d.number())
}

func (d dice) owner() string {
	if d.chance(80) {
		return one(d, "m1", "m2", "m3")
	}
	return one(d, "m1", "m2", "m3", "", "load", "c0.1", "p0", strings.Repeat("o", messages.MaxOwnerBytes),
		strings.Repeat("o", messages.MaxOwnerBytes+1), "\u202eevil", d.text(20))
}

// id is mostly a new one, as of a request that was not made before. Ids are not used again after so long that the node
// may have forgotten them.
func (d dice) id() string {
	if d.chance(80) {
		return d.text(8)
	}
	return one(d, "", d.usedID(), d.usedID(), d.text(messages.MaxRequestIDBytes), d.text(messages.MaxRequestIDBytes+1))
}

// usedID is one of two.
func (d dice) usedID() string { return fmt.Sprintf("r%d.%d", d.IntN(2), d.period) }

// secret is one of few, so that some fit.
func (d dice) secret() []byte {
	return one(d, []byte("0123456789abcdef"), []byte("fedcba9876543210"), d.bytes(d.IntN(80)))
}

func (d dice) metadata() map[string]string {
	all := make(map[string]string)
	for range one(d, 1, messages.MaxMetadataEntries, messages.MaxMetadataEntries+1) {
		all[d.text(1+d.IntN(6))] = d.text(d.IntN(one(d, 8, 64, 2*messages.MaxMetadataBytes)))
	}
	return all
}

// common fields are in each request, others in some.
var common = map[protoreflect.Name]bool{"owner": true, "token": true, "ttl_ms": true, "request_id": true,
	"reason": true, "how": true}

// body returns that of an operation, with each field of its message at random: a field that the contract gets is
// attacked as well.
func (d dice) body(op messages.Operation) proto.Message {
	m := messages.NewRequest(op)
	r := m.ProtoReflect()
	fields := r.Descriptor().Fields()
	for i := range fields.Len() {
		f := fields.Get(i)
		if !common[f.Name()] && !d.chance(25) {
			continue
		}
		switch v := d.value(f).(type) {
		case map[string]string:
			entries := r.Mutable(f).Map()
			for key, value := range v {
				entries.Set(protoreflect.ValueOfString(key).MapKey(), protoreflect.ValueOfString(value))
			}
		default:
			r.Set(f, protoreflect.ValueOf(v))
		}
	}
	if set, ok := m.(*messages.SetRequest); ok && d.chance(30) {
		set.Token, set.Secret, set.Order = 0, nil, 0 // of the only lease of an owner, without a secret
	}
	if acquire, ok := m.(*messages.AcquireRequest); ok {
		if acquire.SecretHash = nil; acquire.Secret != nil {
			acquire.SecretHash = one(d, messages.HashSecret(acquire.Secret), d.bytes(messages.SecretHashBytes),
				d.bytes(5))
		}
	}
	return m
}

// value returns one of a field. Those that have no rule of their own go by their kind.
func (d dice) value(f protoreflect.FieldDescriptor) any {
	switch f.Name() {
	case "owner", "by":
		return d.owner()
	case "token":
		return one(d, 0, 0, 0, uint64(1+d.IntN(20)), uint64(1+d.IntN(20)), uint64(d.number()), 1<<63)
	case "ttl_ms":
		return d.ttl()
	case "wait_ms":
		return one(d, 200, 1000, d.number())
	case "request_id":
		return d.id()
	case "metadata":
		return d.metadata()
	case "limit":
		return one(d, 1, 2, 3, 1000, d.number())
	case "permits":
		return one(d, 1, 1, 1, 2, d.number())
	case "session":
		return one(d, d.session(), d.session(), d.session(), "short", d.text(65))
	case "secret":
		return d.secret()
	case "order":
		return d.order()
	case "alive":
		return one(d, inbox+"alive", inbox+"1", "_INBOX.nobody", "holdfast.info", "$JS.API.INFO")
	case "reason", "how":
		return one(d, "x", "x", "x", "", d.text(messages.MaxReasonBytes+1))
	}
	switch f.Kind() {
	case protoreflect.BoolKind:
		return true
	case protoreflect.EnumKind:
		return protoreflect.EnumNumber(d.IntN(f.Enum().Values().Len()))
	case protoreflect.StringKind:
		return one(d, d.text(6), d.text(600))
	case protoreflect.BytesKind:
		return d.bytes(d.IntN(80))
	case protoreflect.Uint64Kind:
		return uint64(d.number())
	}
	return one(d, 100, 500, 5000, d.number())
}

// batch returns a batch for resources of the attackers alone: the right to send one is a right to every resource.
func (d dice) batch() request {
	r := request{subject: messages.DefaultPrefix.Batch(messages.Shard{Number: d.shard()})}
	ops := slices.DeleteFunc(slices.Clone(messages.Operations), messages.Operation.OfSession)
	for i := range one(d, 0, 1, 3, 20, messages.MaxBatchCalls+1) {
		op := one(d, ops...)
		payload := encode(messages.Protobuf, d.body(op))
		if len(r.payload)+len(payload) > 64<<10 {
			break
		}
		if d.chance(20) {
			payload = d.mutated(payload) // its key is outside
		}
		r.payload = messages.AppendCall(r.payload, one(d, uint64(i), uint64(i), 7, 1<<63), d.key(), op, payload)
	}
	return r
}

func (d dice) shard() uint32 {
	return one(d, uint32(d.IntN(shards)), uint32(d.IntN(shards)), d.number())
}

// encode returns nothing if the message cannot be encoded, as one with text that is not UTF-8.
func encode(e messages.Encoding, m proto.Message) []byte {
	data, err := messages.Encode(e, m)
	if err != nil {
		return nil
	}
	return data
}

// headers returns lines of headers that the service or NATS gives a meaning.
func (d dice) headers() string {
	forged := map[string]string{
		"Nats-Request-Info": `{"acc":"$G","user":"load"}`,
		"Content-Type": one(d, "application/json", "application/protobuf", "text/html",
			strings.Repeat("j", 2000)),
		"traceparent": one(d, "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", "00-xyz",
			strings.Repeat("0", 500)),
		"tracestate":                  strings.Repeat("a=1,", d.IntN(400)),
		"Holdfast-Hops":               one(d, "0", "3", "-1", "99999999999999999999"),
		"Holdfast-Identity":           "load",
		"Holdfast-Call":               one(d, "1", "18446744073709551616"),
		"Holdfast-Inner":              "1",
		"Nats-Expected-Last-Sequence": "0",
		"Nats-Msg-Id":                 "1.2.3",
		"Nats-Rollup":                 "all",
		"KV-Operation":                "PURGE",
		"Fencing-Token":               "000000000000001",
		"Status":                      "503",
	}
	names := slices.Sorted(maps.Keys(forged))
	var b strings.Builder
	b.WriteString(one(d, "NATS/1.0\r\n", "NATS/1.0\r\n", "NATS/1.0\r\n", "NATS/1.0 503 No Responders\r\n",
		"HTTP/1.1 200\r\n", ""))
	for range one(d, 1, 1, 3, 20, 200) {
		name := names[d.IntN(len(names))]
		b.WriteString(one(d, name, name, strings.ToLower(name), " "+name) + one(d, ": ", ":", "  ") + forged[name] +
			one(d, "\r\n", "\r\n", "\n"))
	}
	b.WriteString(one(d, "\r\n", "\r\n", "\r\n", ""))
	return b.String()
}
