package node

import (
	"log/slog"
	"strconv"
	"strings"
	"sync/atomic"

	"github.com/nats-io/nats.go"
	"golang.org/x/time/rate"
	"google.golang.org/protobuf/proto"

	"github.com/holdfast-io/holdfast/actors/lease"
	"github.com/holdfast-io/holdfast/messages"
)

// outbox sends answers. It implements actors.Outbox.
type outbox struct {
	nc      *nats.Conn
	log     *slog.Logger
	bounces bounces
	// sometimes is once a second.
	sometimes *rate.Sometimes
	// answers counts them by status.
	answers [int(messages.Status_EXHAUSTED) + 1]atomic.Uint64
}

func newOutbox(nc *nats.Conn, log *slog.Logger) *outbox {
	return &outbox{
		nc: nc, log: log, bounces: newBounces(nc),
		sometimes: onceASecond(),
	}
}

// Answer implements actors.Outbox.
func (o *outbox) Answer(_ uint32, answers []lease.Answer) {
	for _, a := range answers {
		o.answer(a)
	}
}

func (o *outbox) answer(a lease.Answer) {
	if !a.Waited {
		o.send(a.To, a.Reply)
		return
	}
	l := a.Reply.GetLease()
	key, err := messages.EncodeKey(l.GetResource())
	if err != nil {
		o.log.Error("a resource without a key was granted", "resource", l.GetResource(), "error", err)
		return
	}
	o.count(a.Reply)
	o.publish(a.To, o.bounces.subject(key, messages.Token(l.GetToken())), a.Reply, nil)
}

func (o *outbox) send(to messages.ReplyTo, r *messages.Reply) {
	o.count(r)
	o.publish(to, "", r, serviceError(r))
}

// count keeps the statistics. Refusals for a limit are worth a line in the log, though not each.
func (o *outbox) count(r *messages.Reply) {
	n := o.answers[r.GetStatus()].Add(1)
	if r.GetStatus() == messages.Status_OVERLOADED {
		o.sometimes.Do(func() { o.log.Warn("a limit was reached", "limit", r.GetError(), "refused_so_far", n) })
	}
}

func (o *outbox) publish(to messages.ReplyTo, reply string, m proto.Message, header nats.Header) {
	data, err := messages.Encode(to.Encoding, m)
	if err == nil {
		err = o.nc.PublishMsg(&nats.Msg{Subject: to.Subject, Reply: reply, Header: header, Data: data})
	}
	if err != nil {
		o.log.Warn("an answer could not be sent", "to", to.Subject, "error", err)
	}
}

// serviceError tells NATS tools that the answer is an error; nil if it is none.
func serviceError(r *messages.Reply) nats.Header {
	code, ok := r.GetStatus().ServiceCode()
	if !ok {
		return nil
	}
	return nats.Header{
		messages.HeaderServiceError:     {oneLine.Replace(r.GetError())},
		messages.HeaderServiceErrorCode: {strconv.Itoa(code)},
	}
}

var oneLine = strings.NewReplacer("\r", " ", "\n", " ")
