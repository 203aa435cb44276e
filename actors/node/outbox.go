package node

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/nats-io/nats.go"
	"golang.org/x/time/rate"
	"google.golang.org/protobuf/proto"

	"github.com/holdfast-io/holdfast/actors"
	"github.com/holdfast-io/holdfast/actors/lease"
	"github.com/holdfast-io/holdfast/messages"
)

// maxAnswers is how many answers may wait to be sent: more than all requests that may wait on a node, which are
// answered together when it ends.
const maxAnswers = 1 << 17

// maxProbes is how many probes may wait to be sent, and how many notices.
const maxProbes = 1 << 14

// outbox sends answers, probes and notices. It implements actors.Outbox and actors.Prober.
type outbox struct {
	nc            *nats.Conn
	log           *slog.Logger
	undeliverable *undeliverable
	// lines are queues of answers to be encoded and sent; those of one shard wait in one line.
	lines []*queue[lease.Answer]
	// probes wait to be sent.
	probes *queue[actors.Probe]
	// notices wait to be sent.
	notices *queue[actors.Notice]
	// refusals has an encoded answer for each refusal, of which there is one for each limit of the node and encoding.
	refusals sync.Map
	// dropped counts answers for which there was no room, or that NATS did not take. Their clients ask again.
	dropped atomic.Uint64
	// limitLog and dropLog let one line a second through.
	limitLog, dropLog *rate.Sometimes
	// generation is that of the shards in use.
	generation atomic.Uint32
	answers    *answers
	traces     *traces
	tenants    *tenants
}

func newOutbox(nc *nats.Conn, log *slog.Logger, a *answers, t *traces, of *tenants) *outbox {
	o := &outbox{
		nc: nc, log: log, undeliverable: newUndeliverable(nc), answers: a, traces: t, tenants: of,
		limitLog: onceASecond(), dropLog: onceASecond(),
	}
	o.probes, o.notices = newQueue(maxProbes, o.probe), newQueue(maxProbes, o.notify)
	lines := runtime.GOMAXPROCS(0)
	for range lines {
		o.lines = append(o.lines, newQueue(maxAnswers/lines, o.answer))
	}
	return o
}

// close sends the answers that wait, unless ctx ends before.
func (o *outbox) close(ctx context.Context) error {
	errs := []error{o.probes.close(ctx), o.notices.close(ctx)}
	for _, l := range o.lines {
		errs = append(errs, l.close(ctx))
	}
	return errors.Join(errs...)
}

// Answer implements actors.Outbox.
func (o *outbox) Answer(shard uint32, answers []lease.Answer) {
	taken := o.lines[int(shard)%len(o.lines)].put(answers...)
	if taken == len(answers) {
		return
	}
	n := o.dropped.Add(uint64(len(answers) - taken))
	o.dropLog.Do(func() {
		o.log.Warn("answers dropped: NATS does not take them as fast as they come", "dropped_so_far", n)
	})
}

// Probe implements actors.Prober. A probe for which there is no room is lost, as if it had a listener.
func (o *outbox) Probe(p actors.Probe) { o.probes.put(p) }

func (o *outbox) probe(all []actors.Probe) {
	for _, p := range all {
		_ = o.nc.PublishMsg(&nats.Msg{Subject: p.Subject, Reply: o.undeliverable.probe(p)}) // as above
	}
}

// Notify implements actors.Prober. A notice for which there is no room is lost.
func (o *outbox) Notify(n actors.Notice) { o.notices.put(n) }

func (o *outbox) notify(all []actors.Notice) {
	for _, n := range all {
		if data, err := messages.Encode(n.Encoding, n.Notice); err == nil {
			_ = o.nc.Publish(n.Subject, data) // it may be lost
		}
	}
}

// refuse queues an answer. It does not block.
func (o *outbox) refuse(shard uint32, to messages.ReplyTo, r *messages.Reply) {
	o.Answer(shard, []lease.Answer{{To: to, Reply: r}})
}

// answer sends the answers of a line, and those to one batch together.
func (o *outbox) answer(answers []lease.Answer) {
	batched := batches{maxBytes: min(messages.MaxBatchReplyBytes, int(o.nc.MaxPayload()))}
	for _, a := range answers {
		switch {
		case a.To.Batched:
			o.count(a)
			batched.add(a)
		case a.InDoubt:
			o.count(a)
			o.publish(a.To, o.undeliverable.one(grantOf(a)), a.Reply, nil)
		default:
			o.send(a)
		}
	}
	for _, b := range batched.all {
		o.publish(b.to, o.undeliverable.many(b.grants), &b.reply, nil) // mutant: BatchedGrantsKept
	}
}

func (o *outbox) send(a lease.Answer) {
	o.count(a)
	o.publish(a.To, "", a.Reply, serviceError(a.Reply))
}

// overloaded refuses a request at once and as cheaply as possible: most of them come when there is the least time. An
// error value is encoded once. Refusals of a batch are queued, to be sent together.
func (o *outbox) overloaded(to messages.ReplyTo, err error) {
	if to.Batched {
		o.refuse(0, to, refusalOf(err))
		return
	}
	key := refusal{err, to.Encoding}
	ready, ok := o.refusals.Load(key)
	if !ok {
		r := refusalOf(err)
		data, failed := messages.Encode(to.Encoding, r)
		if failed != nil {
			o.log.Error("refusal cannot be encoded", "error", failed)
			return
		}
		ready, _ = o.refusals.LoadOrStore(key, encoded{r, data, serviceError(r)})
	}
	e := ready.(encoded) //nolint:forcetypeassert // nothing else is stored
	o.count(lease.Answer{To: to, Reply: e.reply})
	if err := o.nc.PublishMsg(&nats.Msg{Subject: to.Subject, Header: o.headerOf(to, e.header), Data: e.data}); err != nil {
		o.notSent(to, err)
	}
}

// forget drops the encoded refusals of a limit that is no longer in force.
func (o *outbox) forget(err error) {
	for _, e := range []messages.Encoding{messages.JSON, messages.Protobuf} {
		o.refusals.Delete(refusal{err, e})
	}
}

// refusal is the key of an encoded refusal.
type refusal struct {
	why      error
	encoding messages.Encoding
}

// encoded is an answer that is ready to be sent.
type encoded struct {
	reply  *messages.Reply
	data   []byte
	header nats.Header
}

// count counts an answer, ends its trace, and logs some of the refusals for a limit.
func (o *outbox) count(a lease.Answer) {
	n := o.answers.add(a)
	if a.To.Origin.Trace != nil {
		o.traces.answered(a)
	}
	if a.Reply.GetStatus() != messages.Status_OVERLOADED {
		return
	}
	tenant := a.To.Origin.Tenant
	o.tenants.refused(tenant)
	o.limitLog.Do(func() {
		attributes := []any{"limit", a.Reply.GetError(), "refused_so_far", n}
		if tenant != "" {
			attributes = append(attributes, "tenant", tenant)
		}
		o.log.Warn("limit reached", attributes...)
	})
}

func (o *outbox) publish(to messages.ReplyTo, reply string, m proto.Message, header nats.Header) {
	data, err := messages.Encode(to.Encoding, m)
	if err == nil {
		err = o.nc.PublishMsg(&nats.Msg{Subject: to.Subject, Reply: reply, Header: o.headerOf(to, header), Data: data})
	}
	if err != nil {
		o.notSent(to, err)
	}
}

// headerOf returns the header of an answer, with the generation if its client does not know that.
func (o *outbox) headerOf(to messages.ReplyTo, h nats.Header) nats.Header {
	if !to.Origin.Former {
		return h
	}
	with := nats.Header{messages.HeaderGeneration: {strconv.FormatUint(uint64(o.generation.Load()), 10)}}
	maps.Copy(with, h)
	return with
}

// notSent counts an answer that NATS has not taken.
func (o *outbox) notSent(to messages.ReplyTo, err error) {
	n := o.dropped.Add(1)
	o.dropLog.Do(func() {
		o.log.Warn("answer not sent", "to", to.Subject, "error", err, "dropped_so_far", n)
	})
}

// serviceError returns the header by which NATS tools know an error; nil if the answer is none.
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
