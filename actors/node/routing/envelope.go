package routing

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"google.golang.org/protobuf/proto"

	"github.com/holdfast-io/holdfast/actors"
	"github.com/holdfast-io/holdfast/actors/lease"
	"github.com/holdfast-io/holdfast/messages"
)

const (
	// protobufType names the encoding where an empty payload does not.
	protobufType = "application/protobuf"
	jsonType     = "application/json"
	// headerHops counts how often a request was forwarded, headerCall is the id of a request that came in a batch, and
	// headerInner marks a part of a survey. They are read only on the subjects of nodes.
	headerHops  = "Holdfast-Hops"
	headerCall  = "Holdfast-Call"
	headerInner = "Holdfast-Inner"
	// headerFormer marks a request that came on a direct subject of a former generation.
	headerFormer = "Holdfast-Former"
	// headerWanted bounds the wanted resources that the answer to a part of a survey names.
	headerWanted = "Holdfast-Wanted"
	// headerIdentity says who has sent the request, as the node that took it in has verified it, and headerTenant of
	// which tenant it is.
	headerIdentity = "Holdfast-Identity"
	headerTenant   = "Holdfast-Tenant"
	// headerReply is the reply subject of a request that came through a service import or a gateway: NATS takes it from
	// no client as the reply subject of a message.
	headerReply = "Holdfast-Reply"
	// maxHops bounds forwarding while nodes disagree about an owner: two hand-overs in a row, and one to spare.
	maxHops = 4
)

// Envelope is a request as it was received, so that it can be delivered to a shard here or forwarded.
type Envelope struct {
	Operation messages.Operation
	// Shard is the one that the request is for, of the Generation.
	Shard, Generation uint32
	// Key is the key in the subject, Resource the qualified name of what it decodes to; of a request about a session
	// these are its id.
	Key, Resource string
	ReplyTo       messages.ReplyTo
	// Data is the encoded request, in the encoding of ReplyTo.
	Data []byte
	// Hops is how often the request was forwarded.
	Hops int

	queued lease.Instant // since when it has been waiting for an owner
}

// FromRequest returns the envelope of a request that the shard gives back. It is not ok for an event that no client
// sent, to which no answer is due.
func FromRequest(shard messages.Shard, r *actors.Request) (e Envelope, ok bool, err error) {
	event, ok := r.Event.(lease.ClientEvent)
	if !ok {
		return Envelope{}, false, nil
	}
	body, to := event.Asked()
	e = Envelope{
		Operation: messages.OperationOf(body), Shard: shard.Number, Generation: shard.Generation, Resource: r.Resource,
		ReplyTo: to,
	}
	_, name := messages.Unqualify(r.Resource)
	if e.Key, err = messages.EncodeKey(name); err == nil {
		e.Data, err = messages.Encode(e.ReplyTo.Encoding, unqualified(body))
	}
	if err != nil {
		return e, true, fmt.Errorf("send on a request for %s: %w", messages.QuoteResource(r.Resource), err)
	}
	return e, true, nil
}

// Qualify gives a request of a tenant the qualified name of the session that it names. It has been checked.
func Qualify(tenant string, request proto.Message) {
	if session := sessionOf(request); session != nil && *session != "" {
		*session = messages.Qualify(tenant, *session) // mutant: TenantsShareSessions
	}
}

// unqualified returns a request as its client has sent it.
func unqualified(request proto.Message) proto.Message {
	session := sessionOf(request)
	if session == nil {
		return request
	}
	_, id := messages.Unqualify(*session)
	if id == *session {
		return request
	}
	request = proto.Clone(request) // the shard may still have it
	*sessionOf(request) = id
	return request
}

// sessionOf returns the session that a request about a resource may name; nil for other requests.
func sessionOf(request proto.Message) *string {
	switch r := request.(type) {
	case *messages.AcquireRequest:
		return &r.Session
	case *messages.ExtendRequest:
		return &r.Session
	}
	return nil
}

// waits reports whether the request may wait for an owner. An extend, a set or a keep does not: it would reach the
// owner behind later ones of its client, which repeats it anyway.
func (e Envelope) waits() bool {
	return e.Operation != messages.OpExtend && e.Operation != messages.OpSet && e.Operation != messages.OpKeep
}

// Below returns what the subject on which a node takes the request ends with. A session has no shard of its own.
func (e Envelope) Below() string {
	below := string(e.Operation) + "." + e.Key
	if e.Operation.OfSession() {
		direct := messages.DefaultPrefix.Direct(messages.Shard{Generation: e.Generation, Number: e.Shard}, e.Operation, e.Key)
		return strings.TrimPrefix(direct, string(messages.DefaultPrefix)+".")
	}
	return below
}

// Message returns the message that forwards the request to subject.
func (e Envelope) Message(subject string) *nats.Msg {
	contentType := protobufType
	if e.ReplyTo.Encoding == messages.JSON {
		contentType = jsonType
	}
	m := &nats.Msg{
		Subject: subject, Reply: e.ReplyTo.Subject, Data: e.Data,
		Header: nats.Header{messages.HeaderContentType: {contentType}, headerHops: {strconv.Itoa(e.Hops + 1)}},
	}
	if isReserved(m.Reply) { // mutant: ImportedRequestLostOnTheWay
		m.Header[headerReply] = []string{m.Reply}
		m.Reply = ""
	}
	if e.ReplyTo.Batched {
		m.Header[headerCall] = []string{strconv.FormatUint(e.ReplyTo.Call, 10)}
	}
	of := e.ReplyTo.Origin
	if of.Inner {
		m.Header[headerInner] = []string{"1"}
		m.Header[headerWanted] = []string{strconv.Itoa(of.Wanted)} // mutant: SurveyForgetsTheShare
	}
	if of.Former {
		m.Header[headerFormer] = []string{"1"} // mutant: FormerSubjectForgottenOnTheWay
	}
	if of.Identity != "" {
		m.Header[headerIdentity] = []string{of.Identity}
	}
	if of.Tenant != "" {
		m.Header[headerTenant] = []string{of.Tenant}
	}
	if t := of.Trace; t != nil {
		m.Header[messages.HeaderTraceparent] = []string{t.Context.Traceparent()}
		if t.Context.State != "" {
			m.Header[messages.HeaderTracestate] = []string{t.Context.State}
		}
	}
	return m
}

// isReserved reports whether NATS has made a reply subject for a request that came through an import or a gateway.
func isReserved(reply string) bool {
	return messages.IsImported(reply) || strings.HasPrefix(reply, "_GR_.")
}

// ForwardedReplyTo returns where the answer to a message goes that another node has forwarded.
func ForwardedReplyTo(m *nats.Msg) messages.ReplyTo {
	to := messages.ReplyTo{
		Subject: m.Reply, Encoding: forwardedEncoding(m),
		Origin: messages.Origin{
			// mutant: SenderLostOnTheWay
			Inner: m.Header.Get(headerInner) != "", Identity: m.Header.Get(headerIdentity),
			Former: m.Header.Get(headerFormer) != "",
			Tenant: m.Header.Get(headerTenant), // mutant: TenantLostOnTheWay
		},
	}
	if reply := m.Header.Get(headerReply); isReserved(reply) {
		to.Subject = reply
	}
	if wanted, err := strconv.ParseUint(m.Header.Get(headerWanted), 10, 16); err == nil {
		to.Origin.Wanted = int(wanted)
	}
	if call, err := strconv.ParseUint(m.Header.Get(headerCall), 10, 64); err == nil {
		to.Batched, to.Call = true, call
	}
	return to
}

// Hops returns how often a message was forwarded; as often as allowed if its header does not say.
func Hops(m *nats.Msg) int {
	n, err := strconv.Atoi(m.Header.Get(headerHops))
	if err != nil || n < 0 {
		return maxHops
	}
	return n
}

// ReplyTo returns where the answer to a client's request goes. It has the encoding of the request.
func ReplyTo(m *nats.Msg) messages.ReplyTo {
	return messages.ReplyTo{Subject: m.Reply, Encoding: encoding(m)}
}

func encoding(m *nats.Msg) messages.Encoding {
	return messages.EncodingOf(header(m.Header, messages.HeaderContentType), m.Data)
}

// forwardedEncoding is encoding for a message that another node has forwarded.
func forwardedEncoding(m *nats.Msg) messages.Encoding {
	if m.Header.Get(messages.HeaderContentType) == protobufType {
		return messages.Protobuf
	}
	return encoding(m)
}

// Trace returns the trace of a message, which has only its context; nil if it has none that is recorded.
func Trace(m *nats.Msg) *messages.Trace {
	parent := only(m.Header, messages.HeaderTraceparent)
	if parent == "" {
		return nil
	}
	c, ok := messages.ParseTraceContext(parent)
	if !ok {
		return nil
	}
	return &messages.Trace{Context: c.WithState(only(m.Header, messages.HeaderTracestate))}
}

// only is header for a header that counts as none if it is there several times.
func only(h nats.Header, wanted string) (value string) {
	found := false
	for name, values := range h {
		if len(values) == 0 || !strings.EqualFold(name, wanted) {
			continue
		}
		if found || len(values) > 1 {
			return ""
		}
		value, found = values[0], true
	}
	return value
}

// header reads a header in any case of its name, as HTTP would.
func header(h nats.Header, wanted string) string {
	for name, values := range h {
		if len(values) > 0 && strings.EqualFold(name, wanted) {
			return values[0]
		}
	}
	return ""
}

// after returns the envelope with d, the time it has been queued, taken off its wait. At least a millisecond of
// wait is left, so that a request that was to wait still does.
func (e Envelope) after(d time.Duration) Envelope {
	if e.Operation != messages.OpAcquire || d < time.Millisecond {
		return e
	}
	var r messages.AcquireRequest
	if messages.Decode(e.ReplyTo.Encoding, e.Data, &r) != nil || r.GetWaitMs() == 0 {
		return e
	}
	r.WaitMs = uint32(max(int64(r.GetWaitMs())-d.Milliseconds(), 1))
	if data, err := messages.Encode(e.ReplyTo.Encoding, &r); err == nil {
		e.Data = data
	}
	return e
}
